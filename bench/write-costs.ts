/**
 * Measures the cost of a write of each kind for the API server and etcd, which is the minimum of a burst for any
 * operator. Compares a status with every field and one with the six fields of a small operator. `npx node
 * bench/write-costs.ts [objects]`, 300 unless given, 16 at a time.
 */
import { statusExamples } from '../scripts/generate/status-examples.ts';
import { API_VERSION, annotations, MACHINE_FINALIZER } from '../src/api/v1alpha1/names.ts';
import { isJsonObject } from '../src/lib/json.ts';
import { openStage } from './peers/stage.ts';

const objects = Number(process.argv[2] ?? 300);
if (!Number.isSafeInteger(objects) || objects < 1) {
  process.stderr.write(`"${process.argv[2]}" is no number of objects: write a whole number from 1\n`);
  process.exit(2);
}
const AT_ONCE = 16;
const names = Array.from({ length: objects }, (_, index) => `object-${index}`);
const NAMESPACE = 'write-costs';
const INSTANCES = `/apis/${API_VERSION}/namespaces/${NAMESPACE}/gpuinstances`;

const whole = statusExamples['GpuInstance'] ?? {};
const { machine, endpoint, cost, phase, observedGeneration, conditions } = whole;
const small = { machine, endpoint, cost, phase, observedGeneration, conditions };
const HEAD = {
  finalizers: [MACHINE_FINALIZER],
  annotations: { [annotations.rentalIntent]: 'x'.repeat(250) },
};

const stage = await openStage((line) => void process.stderr.write(`${line}\n`));
const { admin } = stage.cluster;

async function measure(what: string, write: (name: string) => Promise<unknown>): Promise<void> {
  const before = stage.serversCpuMs();
  const queue = [...names];
  const worker = async (): Promise<void> => {
    for (let name = queue.shift(); name !== undefined; name = queue.shift()) await write(name);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  process.stdout.write(`| ${what} | ${((stage.serversCpuMs() - before) / objects).toFixed(1)} ms |\n`);
}

const patch = (name: string, metadata: Readonly<Record<string, unknown>>) =>
  admin.request({ method: 'PATCH', path: `${INSTANCES}/${name}`, body: { metadata } });

async function putStatus(name: string, status: Readonly<Record<string, unknown>>): Promise<void> {
  const path = `${INSTANCES}/${name}`;
  const { body } = await admin.request({ method: 'GET', path });
  if (!isJsonObject(body)) throw new TypeError(`${path} is no object`);
  await admin.request({ method: 'PUT', path: `${path}/status`, body: { ...body, status } });
}

const written = await stage.openObjects(NAMESPACE);
process.stdout.write('| write | processor time of API server and etcd |\n| --- | --- |\n');
await measure('creation', (name) => written.create([name]));
await measure('finalizer and intent', (name) => patch(name, HEAD));
await measure('GET', (name) => admin.request({ method: 'GET', path: `${INSTANCES}/${name}` }));
await measure('GET, and a status of six fields', (name) => putStatus(name, small));
await measure('GET, and a status of all fields', (name) => putStatus(name, { ...whole, phase: 'Loading' }));
await measure('the same with another phase', (name) => putStatus(name, whole));
await measure('DELETE', (name) => admin.request({ method: 'DELETE', path: `${INSTANCES}/${name}` }));
await measure('the finalizer goes, and the object with it', (name) => patch(name, { finalizers: null }));
await written.close();
await stage.stop();
process.exit();
