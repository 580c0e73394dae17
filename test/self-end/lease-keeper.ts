import { readFileSync } from 'node:fs';
import type { GpuInstance } from '../../src/api/v1alpha1/gpu-instance.ts';
import { createSshRunner, LeaseSchedules } from '../../src/controllers/gpu-instance/lease-renewal.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { silentLogger } from '../../src/lib/logger.ts';
import { systemRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { runSshCommand } from '../../src/main/ssh-command.ts';
import { createPacer } from '../../src/market/pacing.ts';
import { openMarket } from '../../src/markets/catalog.ts';
import { createMarketplaceTransport } from '../../src/markets/vast/http/transport.ts';
import { newIdentity } from '../../src/ownership/identity.ts';

/*
 * The part of an operator that keeps one lease, as a process that can be killed. It prints each view of the lease as a
 * line of JSON.
 */

/** Input of the process, as JSON in its first argument. */
export interface KeeperInput {
  readonly object: GpuInstance;
  readonly url: string;
  readonly apiKey: string;
  /** File with the authority of the marketplace. */
  readonly ca: string;
}

/** Line of output. */
export interface KeeperView {
  readonly failures: number;
  readonly renewedAt?: string;
  readonly hostKey?: string;
  readonly detail?: string;
  readonly isProven?: true;
}

const KEY = 'team/trainer';
const { object, url, apiKey, ca } = JSON.parse(process.argv[2] ?? '') as KeeperInput;
const clock = systemClock;
const market = openMarket('Vast', {
  ...{ url, key: new Secret(apiKey), clock, random: systemRandom, log: silentLogger },
  transport: createMarketplaceTransport({ ca: readFileSync(ca, 'utf8'), allowedNetworks: ['127.0.0.0/8'] }),
  pacer: createPacer({ clock }),
});
const identity = newIdentity(
  { id: new Uint8Array(16).fill(1), key: new Uint8Array(32).fill(2) },
  { kubeSystemUid: undefined, scope: '*' },
);
const schedules = new LeaseSchedules({
  ...{ clock, random: systemRandom, log: silentLogger, identity: () => identity },
  // Machines of the simulator have addresses of documentation.
  runSsh: createSshRunner({
    ...{ mapAddress: () => '127.0.0.1', allowPrivate: false, resolve: async () => [] },
    run: runSshCommand,
  }),
  sessionOf: () => ({ market }) as never,
  onChange: print,
});

function print(): void {
  const view = schedules.view(KEY, object);
  if (!view) return;
  const { renewedAt, ...rest } = view;
  const at = renewedAt === undefined ? undefined : clock.now() - (clock.monotonic() - renewedAt);
  const line = { ...rest, ...(at !== undefined && { renewedAt: new Date(at).toISOString() }) };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

print();
// Its timers alone would let the process end.
setInterval(() => undefined, 60_000);
