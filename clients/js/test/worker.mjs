/** One of several processes that answer the same question at once. */

import { Client, FolderStore } from "../src/node.js";

if (process.argv.length > 3) {
  const [url, folder] = process.argv.slice(2);
  const client = await Client.open(url, { policy: { minError: 0, maxCertainty: 1 }, store: new FolderStore(folder) });
  await client.report("drink 0");
}
