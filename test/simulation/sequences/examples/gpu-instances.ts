import { anyOf, type Examples, edits, IMMUTABLE, just } from './examples.ts';
import { COMPLETION, COMPLETION_PATHS, offer, RENTAL, RENTAL_OWN, SECRET_KEY } from './rental.ts';

export const GPU_INSTANCES: Examples = {
  isOwn: anyOf([...RENTAL_OWN, /^idle(\.|$)/, /^completion(\.|$)/]),
  edits: (first) => [
    ...edits('taken', [
      ...RENTAL,
      just({ idle: { after: '30m' } }),
      just({ idle: { after: '15m', below: 1, action: 'Destroy', warning: '1m' } }),
      just({ idle: { after: '168h', below: 50, action: 'Stop', warning: '24h' } }),
    ])(first),
    ...edits('refusedByRule', [
      just({ accountRef: { name: 'another' } }),
      just({ accountRef: { name: 'default', namespace: 'another' } }),
      just({ adopt: { instanceId: '4711', policy: 'Observe' } }),
      just({ disk: '1G' }),
      just({ image: 'https://example/work:1' }),
      just({ maxLifetime: 'soon' }),
      just({ lease: { duration: '2h', by: 'SSH' } }),
      just({ lease: { duration: '2h', by: 'Program' }, deletionPolicy: 'Stop' }),
      just({ lease: { duration: '2h', by: 'Program' }, args: ['--port', '8000'] }),
      just({ idle: { after: '5m' } }),
      just({ idle: { after: '30m', warning: '30m' } }),
      just({ idle: { after: '30m', action: 'Destroy' }, deletionPolicy: 'Retain' }),
      just({ command: ['python', 'train.py'], completion: COMPLETION }),
      just({ onStart: 'a', onStartFrom: { secretKeyRef: SECRET_KEY } }),
      just({ command: ['python', 'train.py'], onStart: 'nvidia-smi' }),
      just({ args: ['--port', '8000'], onStart: 'nvidia-smi' }),
      just({ args: ['--port', '8000'], ssh: true }),
      just({ command: ['python', 'train.py'], entrypoint: 'Override', ssh: true }),
      just({ entrypoint: 'Keep' }),
      just({ readinessProbe: { tcpSocket: { port: 8080 } } }),
      offer({ bid: '0.20' }),
      just({ offers: null }),
      just({ image: null }),
    ])(first),
  ],
  untaken: {
    accountRef: IMMUTABLE,
    'accountRef.name': IMMUTABLE,
    'accountRef.namespace': IMMUTABLE,
    adopt: IMMUTABLE,
    'adopt.instanceId': IMMUTABLE,
    'adopt.policy': IMMUTABLE,
    ...Object.fromEntries(COMPLETION_PATHS.map((path) => [path, IMMUTABLE])),
  },
};
