import { mkdirSync } from 'node:fs';
import { userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { findFreePort } from '../../test/cluster/free-port.ts';
import { envoyBinary } from '../../test/tools/envoy.ts';
import { untilInterrupted } from './ending.ts';
import { environmentFile, type Variables } from './look-around.ts';
import { startPicker } from './picker-process.ts';
import type { RunningProcess } from './processes.ts';
import { openPlaygroundMarket } from './simulator.ts';
import { makeKey, SSHD } from './ssh-server.ts';
import { applySample, type Stage, type StagePlan, setStage } from './stage.ts';

/** Factor by which the time spans of scaling are shorter: `inactivityTimeout: 5m` is 30 seconds. */
export const PLAYGROUND_SPEED = 10;

/**
 * The stage of the playground: machines that answer, admission policies, an account, a group at zero workers, and a
 * gateway if Envoy can be had.
 */
export interface Playground extends Stage {
  /** Variables of a terminal; the file of `sourceLine` sets them. */
  readonly variables: Variables;
  /** The command that sets up a terminal. */
  readonly sourceLine: string;
  /** Reason why the machines do not answer SSH; undefined if they do. */
  readonly whyNoShell: string | undefined;
  /** Resolves when the gateway serves, or with a sentence that says why there is none. Never rejects. */
  readonly gateway: Promise<{ readonly url: string } | { readonly missing: string }>;
}

type PlaygroundPlan = Pick<StagePlan, 'tell' | 'signal' | 'node' | 'onLog'>;

/** Sets everything up; what was begun is taken down again where a later step fails. */
export async function setPlayground(plan: PlaygroundPlan): Promise<Playground> {
  const envoy = envoyBinary();
  // It is awaited later: until then a rejection has no handler.
  envoy.catch(() => {});
  const ports = { gateway: await findFreePort(), operator: await findFreePort() };
  const at = (port: number): string => `http://127.0.0.1:${port}`;
  const [gatewayUrl, operatorUrl] = [at(ports.gateway), at(ports.operator)];
  let folder = '';
  const stage = await setStage({
    ...plan,
    policies: true,
    openMarketplace: (logFolder) => {
      folder = join(dirname(logFolder), 'machines');
      mkdirSync(folder, { recursive: true });
      if (SSHD !== undefined) makeKey(join(folder, 'login'));
      return openPlaygroundMarket(logFolder, folder);
    },
    operatorFlags: [
      ...['--metrics-bind-address', `127.0.0.1:${ports.operator}`, '--gateway-reports', 'unauthenticated'],
      ...['--gateway-url', gatewayUrl, '--scaling-speed', String(PLAYGROUND_SPEED)],
    ],
  });
  try {
    await applySample(stage.cluster, 'account.yaml', { pollInterval: '1s' });
    const { url, apiKey } = stage.marketplace;
    const variables = {
      GPU_RENT_URL: url,
      GPU_RENT_API_KEY: apiKey,
      ...{ GPU_RENT_ADDRESS_MAP: '203.0.113.0/24=127.0.0.1', ...loginOf(folder) },
      ...{ CONTROL: stage.controlUrl, METRICS: `${operatorUrl}/metrics`, GATEWAY: gatewayUrl },
    };
    await applySample(stage.cluster, 'endpoint-group-gateway.yaml');
    const closing = new AbortController();
    const untilClosed = Promise.race([envoy, untilInterrupted(closing.signal)]);
    const gateway = openGateway({ stage, envoy: untilClosed, port: ports.gateway, operatorUrl });
    return {
      ...stage,
      variables,
      sourceLine: environmentFile(stage.cluster, variables),
      whyNoShell: SSHD === undefined ? 'there is no sshd: apt-get install openssh-server' : undefined,
      gateway: gateway.then(({ picker, why }) => (picker ? { url: gatewayUrl } : { missing: why })),
      async dismantle() {
        closing.abort(new Error('the playground ended'));
        await (await gateway).picker?.stop();
        await stage.dismantle();
      },
    };
  } catch (error) {
    await stage.dismantle();
    throw error;
  }
}

/**
 * Returns the login of the server, which accepts the user that it runs as; that of root accepts root, the default of
 * gpu-rent.
 */
function loginOf(folder: string): Variables {
  if (SSHD === undefined) return {};
  const { uid, username } = userInfo();
  return {
    GPU_RENT_SSH_IDENTITY: join(folder, 'login'),
    ...(uid !== 0 && { GPU_RENT_SSH_USER: username }),
  };
}

interface GatewayPlan {
  readonly stage: Stage;
  readonly envoy: Promise<string>;
  readonly port: number;
  readonly operatorUrl: string;
}

interface OpenedGateway {
  readonly picker?: RunningProcess;
  readonly why: string;
}

async function openGateway({ envoy, ...plan }: GatewayPlan): Promise<OpenedGateway> {
  try {
    return { picker: await startPicker({ ...plan, envoy: await envoy }), why: '' };
  } catch (error) {
    return { why: error instanceof Error ? error.message : String(error) };
  }
}
