import { MarketplaceError } from '../../../src/market/errors.ts';
import type { MarketplaceClient } from '../../../src/markets/vast/client.ts';
import { loggedOutClientOf } from '../../builders/simulated-client.ts';
import type { SimulatedService } from '../../builders/simulated-service.ts';
import type { TfaModel, Verdict } from '../../builders/tfa-model.ts';
import { totpCode } from '../../builders/totp.ts';

/* What the moves of a walk through two-factor authentication have in common. */

/** The account under way: what was done to it, and what has to be true of it. */
export interface Walk {
  readonly service: SimulatedService;
  readonly client: MarketplaceClient;
  readonly model: TfaModel;
  session: { readonly key: string; readonly until: number } | undefined;
  login: string;
}

/** Returns the result of a call: `ok`, or the code of its refusal. */
export async function ended(call: Promise<unknown>): Promise<Verdict> {
  try {
    await call;
    return 'ok';
  } catch (error) {
    if (error instanceof MarketplaceError) return error.code ?? error.kind;
    throw error;
  }
}

export const picked = <T>(list: readonly T[], index: number): T | undefined =>
  list[index % Math.max(1, list.length)];

export const wrongFor = (code: string): string => (code === '000000' ? '000001' : '000000');

export const totpOf = (walk: Walk, key: string, isRight: boolean): string => {
  const code = totpCode(key, walk.model.now);
  return isRight ? code : wrongFor(code);
};

export const methodsOf = ({ model }: Walk, type: 'totp' | 'sms') =>
  model.methods.filter((method) => method.type === type);

export const loggedOut = ({ service, login }: Walk) => loggedOutClientOf(service, login);

/** A move: what it needs of the chance of the walk, and what it does. */
export interface Draw {
  readonly index: number;
  /** The code is right. */
  readonly isRight: boolean;
  /** True if the caller has a key; false if it is logged out. */
  readonly byKey: boolean;
}

export type Move = (walk: Walk, draw: Draw) => Promise<void>;

export function advance({ service, model }: Walk, seconds: number): void {
  service.advance(seconds);
  model.now = service.simulator.now();
}
