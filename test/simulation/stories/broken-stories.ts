import type { JsonObject } from '../memory-kube/json.ts';
import { MACHINE } from '../specs.ts';
import { raisePrices, unmapPorts } from './acts.ts';
import { CHEAPEST_OFFER } from './market.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const PORTS = [{ name: 'http', containerPort: 8000, protocol: 'TCP' }];

const PROBE = {
  httpGet: { port: 'http', path: '/health', scheme: 'HTTP' },
  ...{ initialDelaySeconds: 0, periodSeconds: 10, timeoutSeconds: 5 },
  ...{ successThreshold: 1, failureThreshold: 3 },
};

/** Returns a group with that many workers that have a readiness probe. */
const probed = (
  replicas: number,
  { maxPerHour = 30, ...spec }: { maxPerHour?: number } & JsonObject = {},
) => ({
  load: 0,
  spec: {
    replicas,
    notReadyTimeout: '1m',
    template: { spec: { ...MACHINE, ports: PORTS, readinessProbe: PROBE, replacement: { maxPerHour } } },
    ...spec,
  },
});

const REPORTING = {
  load: { type: 'HTTPPull', httpPull: { preset: 'Pyworker' } },
  template: { spec: { ...MACHINE, ports: PORTS, replacement: { maxPerHour: 30 } } },
};

const rentsNothing = (stage: Stage, second: number, seconds: number, why: string): void =>
  stage.at(second, () => stage.forbid({ call: 'rent', seconds, why }));

/** Machines that run and do no work, and people who ask the operator to look now. */
export const BROKEN_STORIES: readonly Story[] = [
  {
    name: 'the container of the first worker of a group never answers (S1)',
    seconds: 330,
    group: probed(1),
    plot: ({ world }) => world.containers.spoil(CHEAPEST_OFFER, { type: 'silent' }),
  },
  {
    name: 'the container of one worker of two never answers, and the other one serves on (S1)',
    seconds: 400,
    group: probed(2),
    plot: ({ world }) => world.containers.spoil(CHEAPEST_OFFER, { type: 'silent' }),
  },
  {
    name: 'both workers of a group buy the offer that is sold twice, and the later one never answers (S9)',
    seconds: 500,
    group: probed(2),
    plot: (stage) => stage.cause({ name: 'sold-twice' }),
  },
  {
    name: 'the image of a group answers on no machine (S1)',
    seconds: 2_850,
    mayLeave: true,
    group: probed(1, { maxPerHour: 5 }),
    plot: (stage) => {
      stage.world.containers.spoilImage({ type: 'silent' });
      rentsNothing(stage, 40, 660, 'the first worker is not 12 minutes old');
      rentsNothing(stage, 780, 640, 'the first replacement was 12 minutes ago or less');
      rentsNothing(stage, 1_500, 1_340, 'the second replacement in a row was less than 24 minutes ago');
    },
  },
  {
    name: 'the first worker of a group reports an error, while the operator restarts every 40 seconds (S2)',
    seconds: 420,
    hasReports: true,
    group: { load: 0, spec: { replicas: 1, ...REPORTING } },
    plot: (stage) => {
      stage.at(60, () =>
        stage.world.containers.spoil(CHEAPEST_OFFER, { type: 'error', text: 'CUDA error: no device' }),
      );
      for (let second = 85; second < 330; second += 40) stage.at(second, () => stage.killAll());
    },
  },
  {
    name: 'one worker of two reports an error (S2)',
    seconds: 420,
    hasReports: true,
    group: { load: 0, spec: { replicas: 2, ...REPORTING } },
    plot: (stage) =>
      stage.at(60, () =>
        stage.world.containers.spoil(CHEAPEST_OFFER, { type: 'error', text: 'out of memory' }),
      ),
  },
  {
    name: 'prices fall while an object waits long for an offer, and a person asks to look now (S5)',
    seconds: 720,
    plot: (stage) => {
      raisePrices(stage, 5_000_000);
      stage.at(660, () => raisePrices(stage, 300_000));
      stage.at(670, () => stage.users.pollNow('a'));
    },
  },
  {
    name: 'a machine maps no port that its object declares, until a person asks for another (S8)',
    seconds: 400,
    plot: (stage) => {
      stage.users.setPolicies('a', { ports: PORTS });
      stage.at(30, () => unmapPorts(stage, 'a'));
      stage.at(200, () => stage.users.askForAnother('a'));
    },
  },
];
