import { MACHINE } from '../specs.ts';
import { freeName, slowPulls, takeName } from './acts.ts';
import type { Stage } from './stage.ts';
import type { Story } from './story.ts';

const rentsNothing = (stage: Stage, second: number, seconds: number, why: string): void =>
  stage.at(second, () => stage.forbid({ call: 'rent', seconds, why }));

const PORTS = [{ name: 'http', containerPort: 8000, protocol: 'TCP' }];

/** Stories of checks before money is spent, and of failures that are not repeated with money. */
export const PREFLIGHT_STORIES: readonly Story[] = [
  {
    name: 'a foreign Secret has the name of the connection Secret before the purchase (B05)',
    seconds: 250,
    plot: (stage) => {
      takeName(stage, 'secrets', 'a-connection');
      rentsNothing(stage, 0, 100, 'the name of the connection Secret is taken');
      stage.at(100, () => freeName(stage, 'secrets', 'a-connection'));
    },
  },
  {
    name: 'the API server answers no trial of a child, and then does (B05)',
    seconds: 250,
    plot: (stage) => {
      stage.cast({ call: 'makeSecret', seconds: 60, fate: { refusal: { status: 500, body: '{}' } } });
      rentsNothing(stage, 0, 60, 'whether the connection Secret may be written is not known');
    },
  },
  {
    name: 'a foreign Service has the name of the Service of a group before its first worker (B05)',
    seconds: 300,
    group: {
      load: 100,
      spec: { template: { spec: { ...MACHINE, ports: PORTS, replacement: { maxPerHour: 30 } } } },
    },
    plot: (stage) => {
      takeName(stage, 'services', 'group');
      rentsNothing(stage, 0, 100, 'the name of the Service is taken');
      stage.at(100, () => freeName(stage, 'services', 'group'));
    },
  },
  {
    name: 'an image loads on no machine, its object waits longer each time, and its user corrects it (B04)',
    seconds: 1_500,
    plot: (stage) => {
      slowPulls(stage, true);
      rentsNothing(stage, 425, 25, 'the second machine in a row has just failed to load');
      stage.at(700, () => {
        slowPulls(stage, false);
        stage.users.setImage('a', 'example/work:2');
      });
    },
  },
  {
    name: 'an image loads on no machine while processes are killed, and its user asks to try again (B04)',
    seconds: 2_600,
    plot: (stage) => {
      slowPulls(stage, true);
      for (const second of [200, 420, 700]) stage.at(second, () => stage.killAll());
      stage.at(1_900, () => {
        slowPulls(stage, false);
        stage.users.pollNow('a');
      });
    },
  },
];
