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

/** Returns the operator's client for an in-process simulator; by default with the first user's key. */
export function clientOf(service: SimulatedService, key = service.simulator.apiKey): MarketplaceClient {
  return createMarketplaceClient({ ...parts(service), apiKey: new Secret(key) });
}

/** Returns the client of a caller who only has the secret of a login. */
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

/** Returns the MarketplaceError that a call rejects with. */
export async function failureOf(call: Promise<unknown>): Promise<MarketplaceError> {
  try {
    await call;
  } catch (error) {
    if (error instanceof MarketplaceError) return error;
    throw error;
  }
  throw new Error('The call succeeded.');
}
