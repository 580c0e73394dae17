import { annotations } from '../../../api/v1alpha1/names.ts';
import { formatTime } from '../../../lib/rfc3339.ts';
import { makeLabel } from '../../../ownership/label.ts';
import { decision, firstOf, type Rule } from '../decision.ts';
import { nextDeadline, replaceIsDue, replaceIsHandled } from '../due.ts';
import { limitState, priceRise } from '../limits.ts';
import { withRow } from '../machine-fields.ts';
import { priceCap } from '../offers/offer-price.ts';
import { factsOf } from '../recorded.ts';
import { hasDrifted } from '../spec-hash.ts';
import type { MachineState } from '../stage.ts';
import type { Decision, Observed, StatusFields, Step } from '../types.ts';
import { endMachine } from './ending.ts';
import type { Held, StateNamed } from './held-machine.ts';
import { machineFinding, reachable } from './machine-finding.ts';
import { askToStop, stop } from './stopping.ts';

/** What a list can show a machine to be doing. */
type Listed = Exclude<MachineState, { type: 'absent' }>;

/** Reasons to give up a machine that works. Asked of a running and of a stopped one alike. */
export const UNWANTED_RULES: readonly Rule<Held<Listed>>[] = [
  {
    name: 'limit-reached',
    because: 'No money is spent beyond what a person allowed.',
    decide: (observed, held) => {
      const state = limitState(observed);
      return state.type === 'reached' ? applyLimit(observed, held, state.detail) : undefined;
    },
  },
  {
    name: 'replace-requested',
    because: 'A person asked for another machine.',
    decide: (observed, held) =>
      replaceIsDue(observed)
        ? endMachine(observed, {
            ...held,
            reason: 'ReplaceRequested',
            kind: 'unwanted',
            finding: machineFinding(observed, held.state),
          })
        : undefined,
  },
  {
    name: 'spec-changed',
    because: 'The machine is of an old spec, and the update strategy is Replace.',
    decide: (observed, held) =>
      isOutdated(observed) && observed.object.spec.updateStrategy.type === 'Replace'
        ? endMachine(observed, {
            ...held,
            reason: 'SpecChanged',
            kind: 'unwanted',
            finding: machineFinding(observed, held.state),
          })
        : undefined,
  },
  {
    name: 'price-raised',
    because: 'The machine costs more than was agreed, and onPriceAbove is Replace.',
    decide: (observed, held) => {
      const detail = risenPrice(observed, held);
      if (detail === undefined || observed.object.spec.onPriceAbove !== 'Replace') return undefined;
      return endMachine(observed, {
        ...held,
        reason: 'PriceRaised',
        detail,
        kind: 'unwanted',
        finding: machineFinding(observed, held.state),
      });
    },
  },
  {
    name: 'label-adopted',
    because: 'A machine that was taken over says so, or a sweep of another installation sees a stranger.',
    decide: labelAdopted,
  },
];

const RULES: readonly Rule<Held<StateNamed<'running'>>>[] = [
  ...UNWANTED_RULES,
  {
    name: 'stop',
    because: 'powerState is Stopped.',
    decide: (observed, held) =>
      observed.object.spec.powerState === 'Stopped' ? stop(observed, held) : undefined,
  },
  { name: 'run', because: 'It is what is wanted.', decide: healthy },
];

export function whileRunning(observed: Observed, held: Held<StateNamed<'running'>>): Step {
  return firstOf(RULES, observed, held) ?? decision({});
}

function healthy(observed: Observed, held: Held<StateNamed<'running'>>): Decision {
  const answers = reachable(observed);
  const ready = answers.status === 'True';
  const detail = risenPrice(observed, held);
  return decision({
    fields: runningFields(observed, held),
    finding: {
      phase: 'Running',
      reason: ready ? 'Ready' : answers.reason,
      ...(ready ? {} : { detail: observed.probe?.detail }),
      ready,
      machine: machineFinding(observed, held.state),
      ...(detail === undefined ? {} : { budget: { reason: 'PriceRaised', detail } }),
    },
    look: nextDeadline(observed),
  });
}

/** Everything the row tells, and the first sight of it running. A start that worked is forgotten. */
function runningFields(observed: Observed, { state }: Held<StateNamed<'running'>>): StatusFields {
  const { startRequestedAt: _worked, progressAt: _loaded, ...fields } = withRow(observed, state.row);
  const seenAt = formatTime(observed.list?.begunAt ?? observed.now);
  const annotation = observed.object.metadata.annotations?.[annotations.replaceAt];
  return {
    ...fields,
    runningAt: fields.runningAt ?? seenAt,
    ...(annotation !== undefined && replaceIsHandled(observed, annotation)
      ? { replacedAt: annotation.slice(0, 253) }
      : {}),
  };
}

/** What happens to the machine when a limit is reached: what the deletion policy says. */
function applyLimit(observed: Observed, held: Held<Listed>, detail: string): Step {
  const { spec } = observed.object;
  const finding = machineFinding(observed, held.state);
  if (spec.deletionPolicy === 'Destroy') {
    return endMachine(observed, { ...held, reason: 'LimitReached', detail, kind: 'limit', finding });
  }
  const stops = held.state.type !== 'stopped' && spec.deletionPolicy === 'Stop';
  return decision({
    fields: withRow(observed, held.state.row),
    finding: {
      phase: 'Failed',
      reason: 'LimitReached',
      detail,
      machine: finding,
      budget: { reason: 'LimitReached', detail },
    },
    record: { type: 'status' },
    ...(stops && askToStop(observed, held)),
  });
}

/** The label of an adopted machine is asked for until a list shows one. */
function labelAdopted(observed: Observed, { machine, state }: Held<Listed>): Step | undefined {
  const { object, memory, identity, uid } = observed;
  const isAdopted = object.spec.adopt?.policy === 'Manage' && machine.attempt === 1;
  if (!isAdopted || (state.row.label !== null && state.row.label !== '')) return undefined;
  const again = (memory.relabelledAt ?? Number.NEGATIVE_INFINITY) + observed.constants.listLagMs;
  if (observed.steadyNow < Math.max(again, memory.notBefore)) return undefined;
  const issuedAt = state.row.startedAt ?? observed.now;
  const label = makeLabel(identity, { uid, attempt: machine.attempt, issuedAt });
  return decision({
    record: { type: 'nothing', because: 'attempt' },
    actions: [{ type: 'relabel', instanceId: machine.instanceId, label }],
    look: { afterMs: 0 },
  });
}

/** Whether the machine was rented by another spec than the present one. */
export function isOutdated({ object }: Observed): boolean {
  return hasDrifted(object.status?.specHash, object.spec);
}

function risenPrice(observed: Observed, held: Held): string | undefined {
  if (held.state.type !== 'running' && held.state.type !== 'booting') return undefined;
  const requirements = observed.object.spec.offers?.[observed.object.status?.offerIndex ?? 0];
  const limits = factsOf(observed)?.limits ?? {};
  const cap = requirements === undefined ? limits.maxPricePerHour : priceCap(requirements, limits);
  return priceRise(observed, held.state.row.pricePerHour, cap);
}
