import { reasons } from '../../api/v1alpha1/reasons.ts';
import { hasPriceRule, totalPrice } from '../../controllers/gpu-instance/public.ts';
import type { MarketplaceClient } from '../../marketplace/client.ts';
import type { CommandInput } from '../command.ts';
import { type LastingRefusal, lasting } from '../limits.ts';
import { numberOption, switchOption } from '../options/option-values.ts';
import type { Progress } from '../output/output.ts';
import type { Alternative, Candidate } from './candidates.ts';
import type { AccountView } from './cluster-view.ts';
import type { Effects } from './effects.ts';
import type { PlannedObject } from './manifests.ts';

/** What would become of a manifest. */
export interface Plan extends Effects {
  readonly object: string;
  /** Which alternative of spec.offers, from 0. */
  readonly alternative: number | undefined;
  readonly rents: Candidate | undefined;
  readonly perDay: number | undefined;
  readonly candidates: readonly Candidate[];
  /** Why nothing would be rented. */
  readonly reason:
    | 'NoPriceLimit'
    | 'NoOffers'
    | 'NoOfferWithinPrice'
    | 'PriceUnknown'
    | LastingRefusal['reason']
    | RentsNothing['reason']
    | undefined;
  /** That reason with the figures or fields at hand, where there are any. */
  readonly detail: string | undefined;
  /** Requirements whose dropping would help, with the number of offers. */
  readonly without: readonly { readonly name: string; readonly count: number }[];
  readonly note: string;
}

/** What a plan is made with. */
interface Means {
  readonly view: AccountView & Partial<Effects>;
  readonly client: MarketplaceClient;
  readonly input: CommandInput;
  readonly progress: Progress;
}

/**
 * Searches offers for one object and chooses as the operator would. Rejects with a MarketplaceError if a search fails.
 */
export async function planObject(planned: PlannedObject, means: Means): Promise<Plan> {
  const { spec } = planned;
  const { view, input } = means;
  // Nothing is searched for an object whose machine stays.
  if (view.machine && view.machine.effect !== 'replaces') return nothingOf(planned, view);
  const idle = rentsNothing(planned);
  if (idle) return { ...nothingOf(planned, view), ...idle };
  const { diskGB } = await import('../../api/v1alpha1/machine-drift.ts');
  const show = numberOption(input.options, '--show', { min: 1, max: 1000, whole: true }) ?? 8;
  const alternatives = (spec.offers ?? []).map(
    (requirements): Alternative => ({ requirements, ...view, diskGB: diskGB(spec), requiredPorts: spec }),
  );
  const nothing = nothingOf(planned, view);
  const priced = alternatives.filter(({ requirements, limits }) => hasPriceRule(requirements, limits, spec));
  const [first] = priced;
  if (!first) return { ...nothing, reason: 'NoPriceLimit' };
  for (const alternative of priced) {
    const found = await chosen(alternative, means);
    if (!found) continue;
    const others = switchOption(input.options, '--why') ? await losers(alternative, means) : found.candidates;
    const kept = [found.rents, ...others.filter(({ offer }) => offer !== found.rents.offer)].slice(0, show);
    const refusal = noRoom(planned, { ...found.offer, view });
    if (refusal) return { ...nothing, ...refusedPlan(refusal, kept) };
    return { ...nothing, ...rentalPlan(found.rents, kept), alternative: alternatives.indexOf(alternative) };
  }
  return { ...nothing, ...(await whyNone(first, means, show)) };
}

function rentalPlan(rents: Candidate, candidates: readonly Candidate[]) {
  const { pricePerHour } = rents;
  const perDay = pricePerHour === undefined ? undefined : Math.round(pricePerHour * 24e6) / 1e6;
  return { rents, perDay, candidates };
}

/** There is an offer, and the account has no room for it. */
function refusedPlan({ reason, message }: LastingRefusal, candidates: readonly Candidate[]) {
  return { reason, detail: message, candidates: candidates.map(notRented) };
}

function nothingOf({ object }: PlannedObject, { note, machine, group }: Means['view']): Plan {
  return {
    ...{ object, machine, group, note, candidates: [], without: [] },
    ...{ alternative: undefined, rents: undefined, perDay: undefined, reason: undefined, detail: undefined },
  };
}

/** What keeps the account from it; undefined if it has room. What has room is counted for the objects behind it. */
function noRoom(
  { object, namespace }: PlannedObject,
  {
    id,
    price,
    view,
  }: { readonly id: string; readonly price: number | undefined; readonly view: AccountView },
): LastingRefusal | undefined {
  const objectUid = `planned ${namespace}/${object}`;
  const waits = { namespace: namespace ?? '', generation: 0, wake() {} };
  const ticket = view.gate?.request({ ...waits, objectUid, offerId: id, pricePerHour: price });
  if (ticket?.type !== 'ticket') return ticket && lasting(ticket);
  ticket.use();
  ticket.settle({ rented: true });
  return undefined;
}

function notRented(candidate: Candidate): Candidate {
  if (candidate.verdict === 'lost') return candidate;
  return { ...candidate, verdict: 'lost', why: 'would be first, and the account has no room for it' };
}

async function search(alternative: Alternative, breadth: 'exact' | 'broad', { client, progress }: Means) {
  const { offerQuery } = await import('../../controllers/gpu-instance/public.ts');
  progress.show('Searching offers, at the pace that the marketplace allows …');
  return client.offers.search(offerQuery(alternative.requirements, alternative, breadth));
}

async function chosen(alternative: Alternative, means: Means) {
  const { judgeOffers } = await import('../plan/candidates.ts');
  const { choice, candidates } = judgeOffers(alternative, await search(alternative, 'exact', means));
  const [rents] = candidates;
  if (choice.type !== 'chosen' || rents === undefined) return undefined;
  const offer = { id: choice.offer.id, price: totalPrice(choice.offer, alternative.requirements) };
  return { rents, candidates, offer };
}

/** Offers of every kind, with what each lacks. */
async function losers(alternative: Alternative, means: Means): Promise<readonly Candidate[]> {
  const { judgeOffers } = await import('../plan/candidates.ts');
  return judgeOffers(alternative, await search(alternative, 'broad', means)).candidates.filter(
    ({ why }) => why !== 'first by the order',
  );
}

async function whyNone(alternative: Alternative, means: Means, show: number) {
  const { judgeOffers, whatWouldHelp } = await import('../plan/candidates.ts');
  const offers = await search(alternative, 'broad', means);
  const { choice, candidates } = judgeOffers(alternative, offers);
  const { help, without } = whatWouldHelp(alternative, offers);
  const reason = choice.type === 'none' ? choice.reason : 'NoOffers';
  return {
    candidates: candidates.slice(0, show),
    reason,
    detail: [reasons[reason].sentence, ...help].join(' '),
    without,
  };
}

/** Why a manifest rents nothing, whatever is offered. */
interface RentsNothing {
  readonly reason: 'Adopted' | 'Stopped' | 'Paused';
  /** What holds, and what to do to have a machine rented. */
  readonly detail: string;
}

/** What the spec itself says, in the operator's order; undefined if it asks for a rental. */
function rentsNothing({ spec, isPaused, object }: PlannedObject): RentsNothing | undefined {
  const { adopt, powerState } = spec;
  if (adopt) {
    const detail = `it takes machine ${adopt.instanceId} over, which is rented already (spec.adopt, policy ${adopt.policy}).`;
    return { reason: 'Adopted', detail };
  }
  if (powerState === 'Stopped') {
    const detail = 'spec.powerState is Stopped. Set it to Running, or leave it out, to have one rented.';
    return { reason: 'Stopped', detail };
  }
  if (!isPaused) return undefined;
  const field = object.startsWith('epg/') ? 'spec.pause.scaleUp or paused of the template' : 'spec.paused';
  return { reason: 'Paused', detail: `it is paused (${field}). Set that to false to have one rented.` };
}
