/** Starts a simulator as the demo does, prints its process id, and waits to be killed. */
import { startGpuRent } from '../../scripts/demo/processes.ts';

const [logFolder = ''] = process.argv.slice(2);
const simulator = startGpuRent({ name: 'simulator', logFolder, args: ['simulator', '--port', '0'] });
await simulator.ready;
process.stdout.write(`${simulator.pid}\n`);
setInterval(() => {}, 60_000);
