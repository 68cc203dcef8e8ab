"""Run in an environment of its own: curves on standard input, what pydataless predicts for the population on output."""

import json
import sys
import warnings

import numpy as np
import pandas as pd
from dataless import PYPExtrapolation

asked = json.load(sys.stdin)
warnings.simplefilter("ignore")
found = []
for curve in asked["curves"]:
    seen = pd.DataFrame({"n": curve["sizes"], "κ": np.clip(curve["shares"], 0.0, 1.0)})
    found.append(float(PYPExtrapolation(seen).predict(np.array([asked["population"]]))[0]))
json.dump(found, sys.stdout)
