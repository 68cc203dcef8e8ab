"""Charts as data: a Vega-Lite specification in, SVG or PNG out, where the extra `report` is installed."""
