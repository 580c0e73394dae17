import { objectAt } from '../../memory-kube/json.ts';
import { applyEdit, type Edit } from '../edit.ts';
import { anyOf, type Change, type Examples, edits, IMMUTABLE, just } from './examples.ts';
import { COMPLETION, COMPLETION_PATHS, RENTAL, RENTAL_OWN } from './rental.ts';

/** The same of a template, where they are given for the spec within. */
const inTemplate =
  (change: Change): Change =>
  (first) => {
    const template = objectAt(first, 'template');
    const spec = objectAt(template, 'spec');
    const edit: Edit = { name: '', change: change(spec), answer: 'taken' };
    return { template: { ...template, spec: applyEdit(spec, spec, edit) } };
  };

const FIGURES = ['newLoad', 'rejectedLoad', 'currentLoad', 'waitingLoad', 'maxPerf', 'inFlight', 'error'];
const OF_THE_GROUP = 'the group decides: each edit is refused';

export const ENDPOINT_GROUPS: Examples = {
  isOwn: (path) =>
    anyOf([
      /^template\.spec\.(powerState|deletionPolicy)$/,
      /^template\.spec\.(idle|completion)(\.|$)/,
      /^(coldWorkers|maxWorkers|replicas|targetQueueTime|maxSpendPerHour|expectedPerf)$/,
      /^load\.(type$|static\.)/,
      /^updateStrategy\.maxUnavailable$/,
    ])(path) || anyOf(RENTAL_OWN)(path.replace(/^template\.spec\./, '')),
  edits: (first) => [
    ...edits('taken', [
      ...RENTAL.map(inTemplate),
      (spec) => ({
        template: {
          ...objectAt(spec, 'template'),
          metadata: { labels: { team: 'ml' }, annotations: { note: 'x' } },
        },
      }),
      just({ load: { type: 'Static', static: { load: '150.5', queue: '20' } } }),
      just({ load: { type: 'Static', static: { load: '0' } } }),
      just({ load: { type: 'Push' } }),
      just({ load: { type: 'HTTPPull', httpPull: { preset: 'VLLM', port: 8000 } } }),
      just({
        load: {
          type: 'HTTPPull',
          httpPull: {
            preset: 'Custom',
            port: 'http',
            path: '/load',
            scheme: 'HTTPS',
            format: 'JSON',
            figures: Object.fromEntries(FIGURES.map((figure) => [figure, `figures.${figure}`])),
            timeout: '2s',
          },
        },
      }),
      just({
        load: {
          type: 'Prometheus',
          prometheus: { loadQuery: 'sum(load)', queueQuery: 'sum(queue)', rejectedQuery: 'sum(rejected)' },
        },
      }),
      just({ gateway: {} }),
      just({ load: { type: 'Gateway' }, gateway: { enabled: true } }),
      just({
        gateway: {
          ...{ enabled: false, hold: '1m', maxHeld: 10, work: 'Header' },
          ...{ keys: { secretName: 'callers' }, port: 'http', link: 'TLS', routing: 'Session' },
          publish: 'FileDiscovery',
        },
      }),
      just({
        gateway: {
          ...{ maxHeldPerClient: 50, maxHeldBytes: '1Gi', trustedCallers: ['scheduler'] },
          ...{ retries: 'All', quietPaths: ['/health'], cors: { allowOrigins: ['https://app.example'] } },
        },
      }),
      just({
        gateway: {
          cors: {
            ...{ allowOrigins: ['*'], allowMethods: ['GET'], allowHeaders: ['authorization'] },
            maxAge: '1h',
          },
        },
      }),
      ...[1, 3].map((coldWorkers) => just({ coldWorkers })),
      ...[1, 2, 1000].map((maxWorkers) => just({ maxWorkers })),
      ...[0, 2, 3].map((replicas) => just({ replicas })),
      ...['1s', '25s'].map((targetQueueTime) => just({ targetQueueTime })),
      ...['1', '3'].map((maxSpendPerHour) => just({ maxSpendPerHour })),
      ...['40', '200'].map((expectedPerf) => just({ expectedPerf })),
      ...[2, '50%'].map((maxUnavailable) =>
        just({ updateStrategy: { type: 'RollingUpdate', maxUnavailable } }),
      ),
    ])(first),
    ...edits('refusedByRule', [
      inTemplate(just({ accountRef: { name: 'another', namespace: 'another' } })),
      inTemplate(just({ adopt: { instanceId: '4711', policy: 'Manage' } })),
      inTemplate(just({ powerState: 'Stopped' })),
      inTemplate(just({ deletionPolicy: 'Retain' })),
      inTemplate(just({ idle: { after: '30m', below: 10, action: 'Stop', warning: '5m' } })),
      inTemplate(just({ command: ['python', 'train.py'], completion: COMPLETION })),
      inTemplate(just({ disk: 'large' })),
      just({ load: { type: 'Push', static: { load: '1' } } }),
      just({ coldWorkers: 4 }),
      just({ replicas: 4 }),
      just({ targetQueueTime: '60s' }),
      just({ scaleToZero: 'Never', inactivityTimeout: '5m' }),
      just({ maxSpendPerHour: '0.10' }),
      just({ endpointName: 'Not-A-Name' }),
    ])(first),
  ],
  untaken: {
    'template.spec.accountRef': IMMUTABLE,
    'template.spec.accountRef.name': IMMUTABLE,
    'template.spec.accountRef.namespace': IMMUTABLE,
    'template.spec.adopt': OF_THE_GROUP,
    'template.spec.adopt.instanceId': OF_THE_GROUP,
    'template.spec.adopt.policy': OF_THE_GROUP,
    'template.spec.idle': OF_THE_GROUP,
    'template.spec.idle.after': OF_THE_GROUP,
    'template.spec.idle.below': OF_THE_GROUP,
    'template.spec.idle.action': OF_THE_GROUP,
    'template.spec.idle.warning': OF_THE_GROUP,
    ...Object.fromEntries(COMPLETION_PATHS.map((path) => [`template.spec.${path}`, OF_THE_GROUP])),
    'template.spec.powerState': OF_THE_GROUP,
    'template.spec.deletionPolicy': OF_THE_GROUP,
  },
};
