import { confirmedNow, serviceNow } from '../../accounts/service-clock.ts';
import type { GpuInstanceSpec } from '../../api/v1alpha1/gpu-instance.ts';
import type { Launch } from '../../instance/launch.ts';
import { maxLifetimeOf } from '../../instance/run.ts';
import { FUSE_GRACE_SECONDS, fuseLine } from '../../instance/self-end.ts';
import { parseDuration, parseTime } from '../../lib/time.ts';
import type { MarketFacts } from '../../market/market.ts';
import type { Fuses } from '../../market/self-end.ts';
import type { Observed, RentalFuse } from './types.ts';

/** Fuse that a rental should have, before the length of its start script is known. */
export type DesiredFuse =
  | {
      readonly type: 'fuse';
      readonly fuses: Fuses;
      readonly line: string;
      /** Address at which the machine requests the renewals of its lease. */
      readonly reportUrl?: string;
    }
  /** A lease that no fuse would enforce; the rental is refused. */
  | { readonly type: 'impossible'; readonly detail: string }
  | Extract<RentalFuse, { type: 'none' }>;

/** Circumstances of a rental that its fuse depends on. */
export interface FuseInputs {
  readonly spec: Pick<GpuInstanceSpec, 'adopt' | 'deletionPolicy' | 'lease' | 'maxLifetime'>;
  readonly launch: Pick<Launch, 'args'>;
  /** Remaining lifetime of the object; undefined without `maxLifetime`. */
  readonly lifeMs: number | undefined;
  /** Names in the environment of the container. */
  readonly env: readonly string[];
  readonly market: Pick<MarketFacts, 'selfEnd'>;
  readonly url: string;
  /** Address of the operator's report server as machines reach it; undefined without one. */
  readonly reportUrl?: string | undefined;
}

/**
 * Returns the fuse for a machine that the operator would destroy at the end of `maxLifetime`, or that has a lease;
 * undefined for any other object. An adopted machine never gets one, nor does a machine that the deletion policy keeps.
 */
export function desiredFuse(inputs: FuseInputs): DesiredFuse | undefined {
  const { spec, lifeMs, market, url } = inputs;
  const leaseMs = parseDuration(spec.lease?.duration);
  const isRequested = lifeMs !== undefined || leaseMs !== undefined;
  if (!isRequested || spec.deletionPolicy !== 'Destroy' || spec.adopt !== undefined) return undefined;
  const fuses: Fuses = {
    ...(lifeMs !== undefined && { lifeSeconds: Math.ceil(lifeMs / 1_000) + FUSE_GRACE_SECONDS }),
    ...(leaseMs !== undefined && { leaseSeconds: Math.ceil(leaseMs / 1_000) }),
  };
  const facts = market.selfEnd;
  const reportUrl = spec.lease?.by === 'Report' ? inputs.reportUrl : undefined;
  const line = facts && fuseLine({ url, facts, reportUrl }, fuses);
  const why = obstacle(inputs);
  if (why !== undefined || line === undefined) return noFuse(why ?? NEEDS_HTTPS, leaseMs !== undefined);
  return { type: 'fuse', fuses, line, ...(reportUrl !== undefined && { reportUrl }) };
}

const NEEDS_HTTPS = 'a machine sends its key to an https address only';

/**
 * Returns the reason why no machine of this object can end itself; undefined if at most the address prevents it.
 */
function obstacle({ spec, launch, env, market: { selfEnd }, reportUrl }: FuseInputs): string | undefined {
  if (!selfEnd) return 'machines of this market cannot end themselves';
  if (launch.args !== undefined) return "with args the image's own program runs, and nothing beside it";
  if (spec.lease?.by === 'Report' && reportUrl === undefined)
    return 'by Report needs the address of the report server, which the operator gets by --worker-report-url';
  const taken = [selfEnd.idVariable, selfEnd.keyVariable].find((name) => env.includes(name));
  return taken && `env sets ${taken}, so the machine does not know itself`;
}

function noFuse(why: string, isRequired: boolean): DesiredFuse {
  return isRequired
    ? { type: 'impossible', detail: `spec.lease would have no effect: ${why}.` }
    : { type: 'none', reason: 'NoFuse', detail: `${ONLY_OPERATOR}: ${why}.` };
}

/** Beginning of a sentence about a machine without a fuse. */
export const ONLY_OPERATOR = 'Only the operator enforces spec.maxLifetime';

/**
 * Returns the milliseconds for which the object may still have machines, at most all of `maxLifetime`; undefined
 * without it. The earliest of several clocks counts, so that no wrong clock makes a machine end itself before the
 * operator would end it.
 */
export function fuseLifeMs({
  object: { spec, status },
  account,
  clock: { now, steadyNow },
}: Pick<Observed, 'object' | 'account' | 'clock'>): number | undefined {
  const maxLifetime = parseDuration(maxLifetimeOf(spec));
  const first = parseTime(status?.firstRentedAt);
  if (maxLifetime === undefined || first === undefined) return maxLifetime;
  const time = account.facts?.serviceTime ?? { type: 'unknown' };
  const clocks = [now, serviceNow(time, now), confirmedNow(time, Math.min(now, steadyNow))];
  const earliest = Math.min(...clocks.filter((clock) => clock !== undefined));
  return Math.min(maxLifetime, Math.max(0, first + maxLifetime - earliest));
}
