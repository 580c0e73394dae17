import { isObject, type JsonObject, listAt } from '../../memory-kube/json.ts';
import { type Change, just } from './examples.ts';

const PORTS = [{ name: 'http', containerPort: 8080 }];
export const SECRET_KEY = { name: 'missing', key: 'text' };

/** The first alternative with other fields. */
export const offer =
  (more: JsonObject): Change =>
  (first) => {
    const [own] = listAt(first, 'offers');
    return { offers: [{ ...(isObject(own) ? own : {}), ...more }] };
  };
/** Changes of what is rented and runs, for every spec that contains such fields. */
export const RENTAL: readonly Change[] = [
  offer({ gpuNames: ['RTX 4090', 'RTX 5090'] }),
  offer({ gpuNames: ['No Such GPU'] }),
  offer({ minGpuMemory: '16G' }),
  offer({ minGpuMemory: '24000M' }),
  offer({ minDirectPorts: 1 }),
  offer({ regions: ['US', 'SE'] }),
  offer({ pricing: 'Interruptible', bid: '0.55' }),
  offer({ maxPricePerHour: '0.75' }),
  offer({ filters: [{ field: 'dlperf', operator: 'Gte', value: '1' }] }),
  offer({ filters: [{ field: 'cuda_max_good', operator: 'In', values: ['12.9', '13.0'] }] }),
  offer({ order: [{ field: 'dlperf', direction: 'Desc' }] }),
  just({ disk: '40G' }),
  just({ disk: '30Gi' }),
  just({ image: 'example/other:2' }),
  just({ imagePullSecretRef: { name: 'missing' } }),
  just({ onStart: 'nvidia-smi' }),
  just({ onStartFrom: { secretKeyRef: SECRET_KEY } }),
  just({ onStartFrom: { secretKeyRef: { ...SECRET_KEY, optional: true } } }),
  just({ command: ['python', 'train.py'] }),
  just({ command: ['python', 'train.py'], args: ['--epochs', '3'], ssh: true }),
  just({ command: ['python', 'train.py'], entrypoint: 'Override' }),
  just({ args: ['--port', '8000'] }),
  just({ args: [] }),
  just({ env: [{ name: 'MODEL', value: 'llama' }] }),
  just({ env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: SECRET_KEY } }] }),
  just({ env: [{ name: 'TOKEN', valueFrom: { secretKeyRef: { ...SECRET_KEY, optional: true } } }] }),
  just({ ports: PORTS }),
  just({ ports: [{ containerPort: 9000, protocol: 'UDP' }] }),
  just({
    ports: PORTS,
    readinessProbe: {
      httpGet: {
        path: '/health',
        port: 'http',
        scheme: 'HTTPS',
        httpHeaders: [{ name: 'X-Probe', value: 'yes' }],
      },
      initialDelaySeconds: 5,
      periodSeconds: 8,
      timeoutSeconds: 3,
      successThreshold: 2,
      failureThreshold: 2,
    },
  }),
  just({ ports: PORTS, readinessProbe: { tcpSocket: { port: 8080 } } }),
  just({ ssh: true, readinessProbe: { tcpSocket: { port: 22 } } }),
  just({ lease: { duration: '2h', by: 'Program' } }),
  just({ lease: { duration: '2h', by: 'Report' } }),
  just({ maxTotalCost: '0.001' }),
  just({ maxTotalCost: '25' }),
];

/** Fields of a rental whose values stand above: other derived ones would break a rule between fields or mean nothing. */
export const RENTAL_OWN: readonly RegExp[] = [
  /^offers\.\[\]\.(pricing|bid|maxPricePerHour|minGpuMemory|minDirectPorts)$/,
  /^(disk|image|onStart|entrypoint|maxTotalCost)$/,
  /^(accountRef|adopt)(\.|$)/,
];

/** Every field of a run. */
export const COMPLETION: JsonObject = {
  ...{ onSuccess: 'Stop', onFailure: 'Keep', backoffLimit: 1, retryCodes: [1, 137], lostLimit: 2 },
  ...{ stopGrace: '1m', ttlAfterFinished: '1h', logBytes: '16Ki' },
};

export const COMPLETION_PATHS: readonly string[] = [
  'completion',
  'completion.retryCodes.[]',
  ...Object.keys(COMPLETION).map((field) => `completion.${field}`),
];
