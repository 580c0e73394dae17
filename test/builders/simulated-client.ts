import { silentLogger } from '../../src/lib/logger.ts';
import { seededRandom } from '../../src/lib/random.ts';
import { Secret } from '../../src/lib/secret.ts';
import { MarketplaceError } from '../../src/market/errors.ts';
import { createPacer } from '../../src/market/pacing.ts';
import {
  createLoggedOutClient,
  createMarketplaceClient,
  type MarketplaceClient,
} from '../../src/markets/vast/client.ts';
import type { LoggedOutTfa } from '../../src/markets/vast/tfa/tfa.ts';
import type { SimulatedService } from './simulated-service.ts';
import { createVirtualClock } from './virtual-clock.ts';

const BASE_URL = 'http://127.0.0.1:9';

/** Our client, driven through the simulator in this process; with the key of the first user unless given. */
export function clientOf(service: SimulatedService, key = service.simulator.apiKey): MarketplaceClient {
  return createMarketplaceClient({ ...parts(service), apiKey: new Secret(key) });
}

/** The client of somebody who has nothing but the secret of a login. */
export function loggedOutClientOf(service: SimulatedService, secret: string): LoggedOutTfa {
  return createLoggedOutClient({ ...parts(service), secret: new Secret(secret) });
}

function parts(service: SimulatedService) {
  const clock = createVirtualClock({ startMs: service.simulator.now() });
  return {
    baseUrl: BASE_URL,
    transport: service.simulator.handle,
    clock,
    random: seededRandom(1),
    log: silentLogger,
    pacer: createPacer({ clock, scale: 0 }),
    limits: { readAttempts: 1 },
  };
}

/** The MarketplaceError a call ends in. */
export async function failureOf(call: Promise<unknown>): Promise<MarketplaceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof MarketplaceError) return error;
    throw error;
  }
  throw new Error('The call succeeded.');
}
