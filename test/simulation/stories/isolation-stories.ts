import type { JsonObject } from '../memory-kube/json.ts';
import { KEEPS_FIRST } from '../prober.ts';
import { NAMESPACE } from '../world.ts';
import { readyOf } from './stage.ts';
import type { Story } from './story.ts';

const PORTS = [{ name: 'http', containerPort: 8080, protocol: 'TCP' }];

/** Returns a spec with a probe that a user or an attacker wrote. */
const probing = (httpGet: JsonObject): JsonObject => ({
  ports: PORTS,
  readinessProbe: {
    httpGet: { port: 'http', path: '/', scheme: 'HTTP', ...httpGet },
    ...{ initialDelaySeconds: 0, periodSeconds: 10, timeoutSeconds: 5 },
    ...{ successThreshold: 1, failureThreshold: 3 },
  },
});

/** Stories of one object's request and its effect on all others. */
export const ISOLATION_STORIES: readonly Story[] = [
  {
    name: 'probes of three objects cannot be sent, and a fourth object runs beside them (C1)',
    seconds: 300,
    plot: (stage) => {
      const headers = (name: string, value: string) => ({ httpHeaders: [{ name, value }] });
      stage.users.createInstance('newline', probing(headers('Authorization', 'Bearer x\n')));
      stage.users.createInstance('trailer', probing(headers('Trailer', 'x')));
      stage.users.createInstance('path', probing({ path: '/\u65e5\u672c' }));
      stage.at(200, () => stage.users.delete('newline'));
    },
  },
  {
    name: 'an object names a key of a Secret that JavaScript objects inherit, and says that it is missing (C1)',
    seconds: 120,
    plot: (stage) => {
      const { kube } = stage.world;
      const address = { kind: kube.kind('secrets'), namespace: NAMESPACE, name: 'settings' };
      const data = { token: Buffer.from('x').toString('base64') };
      kube.writes.create(address, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'settings' }, data });
      const secretKeyRef = { name: 'settings', key: 'constructor' };
      const spec: JsonObject = { env: [{ name: 'TOKEN', valueFrom: { secretKeyRef } }] };
      stage.users.createInstance('odd', spec);
      stage.at(40, () => {
        const reason = readyOf(stage, 'odd')?.['reason'];
        if (reason !== 'InputMissing')
          stage.invariants.report('C1', `odd names a key that is not there and says ${reason}`);
      });
      stage.at(60, () => stage.users.delete('odd'));
    },
  },
  {
    name: 'an object names one long key of a Secret in 128 variables, until a person takes them away (H4)',
    seconds: 300,
    plot: (stage) => {
      stage.users.createInstance('long');
      stage.users.setPaused('long', true);
      stage.users.takeLongEnv('long', { variables: 128, bytes: 100_000 });
      stage.at(10, () => stage.users.setPaused('long', false));
      stage.at(100, () => stage.users.takeNoEnv('long'));
    },
  },
  {
    name: 'a machine keeps the first probe for ever, as after 101 Switching Protocols (M8)',
    seconds: 200,
    plot: (stage) => stage.users.createInstance('keeps', probing({ path: KEEPS_FIRST })),
  },
];
