import type { Mutant } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

/** After the call: outcome unknown, settling, finding by label. */
export const SETTLING_MUTANTS: readonly Mutant[] = [
  {
    name: 'timeout-is-refusal',
    loses: 'the doubt after a call without an answer',
    file: `${GPU}/failure.ts`,
    find: "if (failure.outcome === 'unknown') return { type: 'settle' };",
    replace: "if (failure.outcome === 'unknown') return { type: 'retry', afterMs: 0 };",
  },
  {
    name: 'error-with-machine-ignored',
    loses: 'the machine id that an error reply names',
    file: `${GPU}/failure.ts`,
    find: "if (failure.instanceId !== undefined) return { type: 'rented', instanceId: failure.instanceId };",
    replace: "if (failure.instanceId !== undefined) return { type: 'retry', afterMs: 0 };",
  },
  {
    name: 'settle-at-once',
    loses: 'all waiting for a late call',
    file: `${GPU}/settlement.ts`,
    find: 'return deadlineOf(intent, observed) + lateCallMs + listLagMs;',
    replace: 'return deadlineOf(intent, observed) - 3_600_000 + 0 * (lateCallMs + listLagMs);',
  },
  {
    name: 'settle-5s',
    loses: 'most of the waiting for a late call',
    file: `${GPU}/settlement.ts`,
    find: 'return deadlineOf(intent, observed) + lateCallMs + listLagMs;',
    replace: 'return intent.issuedAt + 5_000 + 0 * (lateCallMs + listLagMs);',
  },
  {
    name: 'settle-without-late-call',
    loses: 'the time that a service may carry a call out late',
    file: `${GPU}/settlement.ts`,
    find: 'return deadlineOf(intent, observed) + lateCallMs + listLagMs;',
    replace: 'return deadlineOf(intent, observed) + 0 * lateCallMs + listLagMs;',
  },
  {
    name: 'any-list-settles',
    loses: 'the rule that only lists begun after the deadline count',
    file: `${GPU}/facts.ts`,
    find: 'if (countable && listsAgreeAfter(observed, at))',
    replace: 'if (countable && observed.machine.listsBegun.length > 0)',
  },
  {
    name: 'one-list-settles',
    loses: 'the second list without which a purchase has not come to nothing',
    file: `${GPU}/facts.ts`,
    find: 'if (countable && listsAgreeAfter(observed, at))',
    replace: 'if (countable && observed.machine.listsBegun.some((begun) => begun > at))',
  },
  {
    name: 'changed-label-disowned',
    loses: 'the machine of a reply whose label the market changed, where labels are not known to come back',
    file: `${GPU}/record-proof.ts`,
    find: "return sent === undefined || remnantOf(sent, label) !== 'recognizable';",
    replace: "return sent === undefined || remnantOf(sent, label) !== 'doubtful';",
  },
  {
    name: 'record-proven-by-one-list',
    loses: 'the second list before the machine of a reply counts as that of its purchase',
    file: `${GPU}/record-proof.ts`,
    find: "return listsAgree(recorded, 'label') ? 'confirmed' : 'unseen';",
    replace: "return 'confirmed';",
  },
  {
    name: 'hidden-candidate-forgotten',
    loses: 'memory of the machine that an earlier list showed for an open purchase',
    file: `${GPU}/candidates.ts`,
    find: 'new Map([...known, ...shown].filter',
    replace: 'new Map([...shown].filter',
  },
  {
    name: 'candidate-not-read',
    loses: 'the read of a machine that lists show with another label than before',
    file: `${GPU}/candidates.ts`,
    find: "typeof read !== 'string' && read.label !== label",
    replace: "typeof read !== 'string' || read.label !== label",
  },
  {
    name: 'kept-by-one-list',
    loses: 'two lists and a read before a machine is kept by its label',
    file: `${GPU}/rules/deleting.ts`,
    find: '[...labelledToDestroy(facts), ...keptByLabel(facts)]',
    replace: '[...labelledToDestroy(facts), ...keptByLabel(facts).slice(1)]',
    unseen:
      'a wrong list must arrive in the seconds between the edit of the status and the deletion; seed 719634757 has it',
  },
  {
    name: 'label-not-looked-for',
    loses: 'finding a machine by the label of its purchase',
    file: `${GPU}/facts.ts`,
    find: '  if (found) return found;\n',
    replace: '',
  },
  {
    name: 'newer-label-ignored',
    loses: 'adoption of a machine with a newer attempt',
    file: `${GPU}/stage.ts`,
    find: '  (facts) => newestLabelled(facts, facts.purchase.settledAttempt + 1),\n',
    replace: '',
  },
  {
    name: 'ghost-adopted',
    loses: 'memory of machines that this object let go of',
    file: `${GPU}/stage.ts`,
    find: 'attempt < least || ended.has(row.id)) continue;',
    replace: 'attempt < least || ended.has(-row.id)) continue;',
  },
  {
    name: 'pending-is-unrented',
    loses: 'the wait while an outcome is unknown',
    file: `${GPU}/stage.ts`,
    find: "      return { type: 'pending', settlement: outcome };",
    replace: '      return undefined;',
  },
];
