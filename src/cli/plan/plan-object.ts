import { diskGB } from '../../api/v1alpha1/machine-drift.ts';
import { facetsOf } from '../../api/v1alpha1/reasons.ts';
import { hasPriceRule, offerQuery, wouldMatchWithout } from '../../controllers/gpu-instance/public.ts';
import { selfEndHint } from '../../instance/image-clients.ts';
import { nothingStarts } from '../../instance/launch.ts';
import { canonicalJson } from '../../lib/json.ts';
import type { MarketplaceClient } from '../../markets/vast/client.ts';
import type { OffersResource } from '../../markets/vast/offers/offers.ts';
import type { Candidate, Plan } from '../../views/plan.ts';
import type { CommandInput } from '../command.ts';
import type { readLogin } from '../explain/explain-instance.ts';
import { numberOption, switchOption } from '../option-values.ts';
import type { Progress } from '../output/output.ts';
import type { MarketplaceSession } from '../sessions/marketplace-session.ts';
import { type Alternative, judgeOffers } from './candidates.ts';
import type { ClusterView } from './cluster-view.ts';
import type { PlannedObject } from './manifests.ts';
import type { PlannedDecision } from './operator-decision.ts';

/** Sources of a plan. */
interface Means {
  readonly view: ClusterView;
  readonly client: Pick<MarketplaceClient, 'offers'>;
  /** The login in the form that the operator has, read once for all objects. */
  readonly login: () => ReturnType<typeof readLogin>;
  readonly input: CommandInput;
  readonly progress: Progress;
}

/**
 * Explains one object as if it existed, and shows the offers of the operator's decision. A machine that would be
 * replaced is kept if no other can be rented. Rejects with a MarketplaceError if a search fails.
 */
export async function planObject(planned: PlannedObject, means: Means): Promise<Plan> {
  const plan = await rentalOf(planned, means);
  const { machine, rents } = plan;
  if (machine?.effect !== 'replaces' || rents !== undefined) return plan;
  const detail = `ReplacementBlocked. ${machine.detail ?? ''}`.trim();
  return { ...plan, machine: { ...machine, effect: 'blocked', detail } };
}

async function rentalOf(planned: PlannedObject, means: Means): Promise<Plan> {
  const { view, login, progress } = means;
  const { machine } = view;
  // No search for an object that keeps its machine.
  if (machine && machine.effect !== 'replaces') return nothingOf(planned, view);
  const held = pausedGroup(planned) ?? view.blocked;
  if (held) return { ...nothingOf(planned, view), ...held };
  const { decidePlanned } = await import('./operator-decision.ts');
  progress.show('Deciding as the operator does …');
  const decided = await decidePlanned({ planned, applied: view.applied }, view.surroundings, await login());
  const note = [view.note, ...decided.unchecked.map((what) => `not checked: ${what}`)].join('; ');
  const shown = decided.purchase
    ? await boughtPlan(planned, decided.purchase, { ...means, decided })
    : await unmatchedPlan(planned, { ...means, decided });
  const unknown = await unknownNames(planned, means, decided);
  const refusal = decided.refusal && {
    ...decided.refusal,
    detail: [decided.refusal.detail, ...unknown].join(' '),
  };
  return { ...nothingOf(planned, { ...view, note }), ...refusal, ...shown };
}

/** Returns sentences about GPUs that no offer has, if another fault of the spec prevents the search. */
async function unknownNames(
  { spec }: PlannedObject,
  { client }: Means,
  { refusal }: PlannedDecision,
): Promise<readonly string[]> {
  const names = (spec.offers ?? []).flatMap(({ gpuNames = [] }) => gpuNames);
  if (refusal?.reason !== 'InvalidSpec' || names.length === 0) return [];
  const { unknownGpus } = await import('../gpu-names.ts');
  return unknownGpus([...new Set(names)], client.offers);
}

interface Deciding extends Means {
  readonly decided: PlannedDecision;
}

/** Returns the offer that would be rented, or that limits refuse, with the losing offers. */
async function boughtPlan(
  planned: PlannedObject,
  { offer, offerIndex, fuse }: NonNullable<PlannedDecision['purchase']>,
  deciding: Deciding,
): Promise<Partial<Plan>> {
  const { input, decided } = deciding;
  const alternative = alternativesOf(planned, decided)[offerIndex];
  if (!alternative) throw new RangeError('an alternative that is not there was decided for');
  const breadth = switchOption(input.options, '--why') ? 'broad' : 'exact';
  const candidates = judgeOffers(alternative, await search(alternative, breadth, deciding), offer);
  const kept = candidates.slice(0, shownOffers(input));
  const [rents] = kept;
  if (decided.refusal) return { candidates: kept.map(notRented) };
  const { pricePerHour } = rents ?? {};
  const perDay = pricePerHour === undefined ? undefined : Math.round(pricePerHour * 24e6) / 1e6;
  const selfEnd = fuse?.type === 'fuse' ? selfEndHint(planned.spec.image, fuse) : fuse?.detail;
  return {
    rents,
    perDay,
    candidates: kept,
    alternative: offerIndex,
    ...(selfEnd !== undefined && { selfEnd }),
  };
}

/** Returns offers of every kind with their missing requirements, if no offer matches; none if another rule decided. */
async function unmatchedPlan(planned: PlannedObject, deciding: Deciding): Promise<Partial<Plan>> {
  const { input, decided } = deciding;
  if (facetsOf(decided.refusal?.reason).search === undefined) return {};
  const { limits } = decided.account;
  const alternative = alternativesOf(planned, decided).find(({ requirements }) =>
    hasPriceRule(requirements, limits, planned.spec),
  );
  if (!alternative) return {};
  const offers = await search(alternative, 'broad', deciding);
  const candidates = judgeOffers(alternative, offers, undefined).slice(0, shownOffers(input));
  return { candidates, without: wouldMatchWithout({ ...alternative, offers }) };
}

const shownOffers = ({ options }: CommandInput): number =>
  numberOption(options, '--show', { min: 1, max: 1000, whole: true }) ?? 8;

/** Returns the alternatives of an object with the limits and exclusions of its account. */
function alternativesOf(
  { spec }: PlannedObject,
  { account: { limits, avoided, reserved } }: PlannedDecision,
): readonly Alternative[] {
  const excluded = { ...avoided, reserved };
  return (spec.offers ?? []).map((requirements) => ({
    ...{ requirements, limits, excluded, requiredPorts: spec },
    diskGB: diskGB(spec),
  }));
}

/**
 * Returns a session that reads each search, and the login, once: a plan and the operator's decision in it use the same
 * replies.
 */
export function readOnce(session: MarketplaceSession) {
  const { client } = session;
  const searches = new Map<string, ReturnType<OffersResource['search']>>();
  const search: OffersResource['search'] = (query, ...more) => {
    const key = canonicalJson(query);
    const found = searches.get(key) ?? client.offers.search(query, ...more);
    searches.set(key, found);
    return found;
  };
  let login: ReturnType<typeof readLogin> | undefined;
  const sharing = { ...client, offers: { ...client.offers, search } };
  return {
    client: sharing,
    login: () =>
      (login ??= import('../explain/explain-instance.ts').then(({ readLogin: read }) =>
        read({ ...session, client: sharing }),
      )),
  };
}

function nothingOf({ object, spec }: PlannedObject, { note, machine, group }: Means['view']): Plan {
  return { object, machine, group, note, candidates: [], without: [], start: nothingStarts(spec) };
}

function notRented(candidate: Candidate): Candidate {
  if (candidate.verdict === 'lost') return candidate;
  return { ...candidate, verdict: 'lost', why: 'would be first, but a limit or budget refuses it' };
}

async function search(alternative: Alternative, breadth: 'exact' | 'broad', { client, progress }: Means) {
  progress.show('Searching offers, at the pace that the marketplace allows …');
  return client.offers.search(offerQuery(alternative.requirements, alternative, breadth));
}

/** Returns the pause of a group that creates no worker; a paused template is for the decision on its worker. */
function pausedGroup({ isHeld }: PlannedObject) {
  if (!isHeld) return undefined;
  const detail = 'The group creates no worker while spec.pause.scaleUp is true. Set it to false.';
  return { reason: 'Paused', detail } as const;
}
