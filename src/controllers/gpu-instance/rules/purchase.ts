import type { GpuInstanceSpec } from '../../../api/v1alpha1/gpu-instance.ts';
import { diskGB, filteredFields, machineFacts, specHash } from '../../../api/v1alpha1/machine-drift.ts';
import type { Reason } from '../../../api/v1alpha1/reasons.ts';
import { parseTime } from '../../../lib/time.ts';
import { makeLabel } from '../../../ownership/label.ts';
import { workerToken } from '../../../ownership/worker-token.ts';
import { type ChoiceInput, chooseOffer, type Exclusions, wouldMatchWithout } from '../choose-offer.ts';
import { backoffMs, decision } from '../decision.ts';
import { offerQuery } from '../offers/offer-checks.ts';
import { hasPriceRule } from '../offers/offer-price.ts';
import { factsOf } from '../recorded.ts';
import { rentRequest } from '../rental/rent-request.ts';
import type { Stage } from '../stage.ts';
import type { Decision, Observed, ReadRequest, Step } from '../types.ts';
import type { AccountFacts, InputsView, OffersView, Refusal } from '../views.ts';
import { idle } from './idle.ts';
import { FOUND_NOTHING, sayQueued } from './queued.ts';

type Unrented = Extract<Stage, { type: 'unrented' }>;
type Requirements = NonNullable<GpuInstanceSpec['offers']>[number];

/** Requests what a rental needs, inputs and the first search together, and then names the offer. */
export function purchase(observed: Observed, stage: Unrented): Step | undefined {
  if (observed.account.state !== 'ready') return undefined;
  if (observed.place) return sayQueued(observed, stage, observed.place);
  if (observed.inputs === undefined) return { type: 'read', requests: firstRequests(observed) };
  if (observed.inputs.type === 'problem') {
    return idle(observed, stage, {
      reason: observed.inputs.reason,
      detail: observed.inputs.detail,
      look: { afterMs: 60_000 },
    });
  }
  const { facts } = observed.account;
  const alternatives = observed.object.spec.offers ?? [];
  if (alternatives.every((requirements) => !hasPriceRule(requirements, facts.limits, observed.object.spec))) {
    return idle(observed, stage, { reason: 'NoPriceLimit' });
  }
  return firstChoice(observed, stage, { facts, inputs: observed.inputs });
}

/** The first search beside the inputs; alone if no price limits it. */
function firstRequests(observed: Observed): readonly ReadRequest[] {
  const facts = factsOf(observed);
  const index = facts === undefined ? -1 : pricedFrom(observed, facts);
  return [
    { type: 'inputs' },
    ...(facts === undefined || index < 0 ? [] : [search(observed, { index, facts, scope: 'shared' })]),
  ];
}

/** Index of the first alternative with a price limit; -1 if none has one. */
function pricedFrom({ object: { spec } }: Observed, { limits }: AccountFacts): number {
  return (spec.offers ?? []).findIndex((requirements) => hasPriceRule(requirements, limits, spec));
}

interface Means {
  readonly facts: AccountFacts;
  readonly inputs: Extract<InputsView, { type: 'ready' }>;
}

/** The alternatives in their order; the broad search that says why comes only after all of them gave nothing. */
function firstChoice(observed: Observed, stage: Unrented, means: Means): Step {
  const { facts } = means;
  const alternatives = observed.object.spec.offers ?? [];
  let isTaken = false;
  for (const [index, requirements] of alternatives.entries()) {
    if (!hasPriceRule(requirements, facts.limits, observed.object.spec)) continue;
    const found = observed.offers.get(index);
    if (found === undefined) return searching(observed, { index, facts, scope: 'shared' });
    if (found.type === 'queued') return sayQueued(observed, stage, found.place);
    if (found.type === 'failed') return withoutReply(observed, stage, found);
    const input = choiceInput(observed, { index, requirements, facts }, found);
    const choice = chooseOffer(input);
    if (choice.type === 'chosen') return rent(observed, stage, { ...means, ...choice, index, requirements });
    if (choice.type === 'unclear') return searching(observed, { index, facts, scope: 'exact' });
    isTaken ||= chooseOffer({ ...input, excluded: NOTHING_EXCLUDED }).type === 'chosen';
  }
  return isTaken ? allTaken(observed, stage) : explain(observed, stage, facts);
}

interface Alternative {
  readonly index: number;
  readonly requirements: Requirements;
  readonly facts: AccountFacts;
}

interface Search extends Pick<Alternative, 'index' | 'facts'> {
  readonly scope: 'shared' | 'exact';
}

/** The search for one alternative, with those that follow it: one reply may answer all of them. */
function search(observed: Observed, { index, facts, scope }: Search): ReadRequest {
  const context = searchContext(observed, facts);
  const [first, ...others] = (observed.object.spec.offers ?? [])
    .slice(index)
    .filter((requirements) => hasPriceRule(requirements, facts.limits, observed.object.spec))
    .map((requirements) => offerQuery(requirements, context, 'exact'));
  if (!first) throw new RangeError('an alternative that is not there was searched for');
  const isPatient = FOUND_NOTHING.has(observed.memory.refusal?.reason ?? 'Ready');
  const queries = [first, ...others] as const;
  return { type: 'offers', index, scope, queries, ...(isPatient && { patient: true }) };
}

function searching(observed: Observed, wanted: Search): Step {
  return { type: 'read', requests: [search(observed, wanted)] };
}

function searchContext({ object: { spec } }: Observed, { limits }: AccountFacts) {
  return { limits, diskGB: diskGB(spec), wanted: spec };
}

function explain(observed: Observed, stage: Unrented, facts: AccountFacts): Step {
  const alternatives = observed.object.spec.offers ?? [];
  const index = pricedFrom(observed, facts);
  const requirements = alternatives[index];
  if (requirements === undefined) return idle(observed, stage, { reason: 'NoPriceLimit' });
  const { explained } = observed.memory;
  if (explained) return backOff(observed, stage, explained, NOTHING_MAX_MS);
  const broad = observed.broadOffers;
  if (broad === undefined) {
    const context = searchContext(observed, facts);
    const queries = [offerQuery(requirements, context, 'broad')] as const;
    return { type: 'read', requests: [{ type: 'offers', index, scope: 'broad', queries }] };
  }
  // An explanation is worth no waiting: the next search may bring it.
  if (broad.type !== 'found')
    return backOff(observed, stage, { reason: 'NoOffers', detail: 'No offer matches.' }, NOTHING_MAX_MS);
  return nothingMatches(observed, stage, choiceInput(observed, { index, requirements, facts }, broad));
}

function nothingMatches(observed: Observed, stage: Unrented, input: ChoiceInput): Decision {
  const choice = chooseOffer({ ...input, excluded: NOTHING_EXCLUDED });
  if (choice.type !== 'none') return allTaken(observed, stage);
  const without = wouldMatchWithout(input).slice(0, 6);
  const counts = without.map(({ name, count }) => `${count} without ${name}`).join(', ');
  const detail =
    counts === ''
      ? 'No offer matches, and none would with any single requirement dropped.'
      : `No offer matches; dropping one requirement would leave: ${counts}.`;
  const explained = { reason: choice.reason, detail };
  return { ...backOff(observed, stage, explained, NOTHING_MAX_MS), explained };
}

function allTaken(observed: Observed, stage: Unrented): Decision {
  const detail = 'Every offer that matches is taken by others or avoided for now.';
  return backOff(observed, stage, { reason: 'NoOffers', detail });
}

/** An object without a match searches at longer and longer intervals, up to this. */
const NOTHING_MAX_MS = 1_800_000;

/** Nothing is searched before the time is over, whatever wakes the object, unless its spec or its account changes. */
function backOff(observed: Observed, stage: Unrented, refusal: Refusal, maxMs?: number): Decision {
  const afterMs = backoffMs(observed.memory.failures + 1, observed.jitter, maxMs);
  return { ...idle(observed, stage, { ...refusal, look: { afterMs } }), backOff: { afterMs, refusal } };
}

const NOTHING_EXCLUDED: Exclusions = { offers: new Set(), machines: new Set(), hosts: new Set() };

function choiceInput(
  observed: Observed,
  { requirements, facts }: Alternative,
  { offers, isShared }: Extract<OffersView, { type: 'found' }>,
): ChoiceInput {
  return {
    requirements,
    ...searchContext(observed, facts),
    offers,
    excluded: exclusions(observed, facts),
    ...(isShared && { mustTell: true }),
  };
}

/** What failed for this object or its account, and what others are about to rent. */
function exclusions({ object, now }: Observed, facts: AccountFacts): Exclusions {
  const own = (object.status?.avoid ?? []).filter((entry) => (parseTime(entry.until) ?? 0) > now);
  const ids = (kind: 'Offer' | 'Machine' | 'Host') =>
    own.filter((entry) => entry.kind === kind).map((entry) => entry.id);
  return {
    offers: new Set([...facts.avoided.offers, ...ids('Offer')]),
    reserved: facts.reserved,
    machines: new Set([...facts.avoided.machines, ...ids('Machine')]),
    hosts: new Set([...facts.avoided.hosts, ...ids('Host')]),
  };
}

function withoutReply(
  observed: Observed,
  stage: Unrented,
  failed: Extract<OffersView, { type: 'failed' }>,
): Decision {
  const reason: Reason =
    failed.kind === 'invalidRequest'
      ? 'InvalidFilter'
      : failed.kind === 'throttled'
        ? 'Throttled'
        : 'Unreachable';
  const afterMs = Math.max(
    failed.retryAfterMs ?? 0,
    backoffMs(observed.memory.failures + 1, observed.jitter),
  );
  const refusal = { reason, detail: failed.detail };
  return { ...idle(observed, stage, { ...refusal, look: { afterMs } }), backOff: { afterMs, refusal } };
}

interface Chosen extends Means {
  readonly offer: ChoiceInput['offers'][number];
  readonly pricePerHour: number | undefined;
  readonly index: number;
  readonly requirements: Requirements;
}

function rent(observed: Observed, stage: Unrented, chosen: Chosen): Step {
  const { object, uid, identity, now } = observed;
  const attempt = stage.attempt + 1;
  const { serviceTime } = chosen.facts;
  if (serviceTime.type === 'stale')
    return idle(observed, stage, {
      reason: 'ServiceTimeUncertain',
      look: { onList: true, afterMs: 1_000 },
    });
  const issuedAt = serviceTime.type === 'known' ? serviceTime.at : now;
  const facts = { uid, attempt, issuedAt };
  const request = rentRequest({
    spec: object.spec,
    requirements: chosen.requirements,
    inputs: chosen.inputs,
    label: makeLabel(identity, facts),
    workerToken: workerToken(identity.keys, { uid, attempt }),
  });
  const bought = {
    attempt,
    issuedAt,
    decidedAt: now,
    offer: chosen.offer,
    offerIndex: chosen.index,
    pricePerHour: chosen.pricePerHour,
    request,
    specHash: specHash(object.spec),
    facts: machineFacts(chosen.offer, {
      pricing: chosen.requirements.pricing,
      fields: filteredFields(object.spec.offers),
    }),
    knownIds: chosen.facts.labelEcho === 'echoed' ? undefined : (observed.list?.ids ?? []),
  };
  return decision({
    record: { type: 'intent', purchase: bought },
    actions: [{ type: 'rent', purchase: bought }],
  });
}
