/** A process of `make playground`: builds what a node of this machine needs, and prints one JSON line when it is there. */
import { prepareCluster } from '../../test/cluster/cluster.ts';

const report = (line: string): void => void process.stderr.write(`${line}\n`);
const source = await prepareCluster({ report, node: true });
process.stdout.write(`${JSON.stringify({ source })}\n`, () => process.exit(0));
