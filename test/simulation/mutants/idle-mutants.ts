import type { Mutant } from './mutant.ts';

const FIGURES = 'accounts/beliefs/utilization.ts';
const STATE = 'controllers/gpu-instance/idle.ts';
const RULES = 'controllers/gpu-instance/rules/idle.ts';
const ENDING = 'controllers/gpu-instance/rules/ending.ts';

/** Mutants of the end of idle machines: each ends one that is used, kept or not warned of, or one of many. */
export const IDLE_MUTANTS: readonly Mutant[] = [
  {
    name: 'idle-counts-null',
    loses: 'that a missing figure ends nothing',
    file: FIGURES,
    find: "if (state !== 'running' || gpuUtilization === undefined) return IN_USE;",
    replace: "if (state !== 'running') return IN_USE;\n  if (gpuUtilization === undefined) return 0;",
  },
  {
    name: 'idle-by-gaps',
    loses: 'that time without lists is not idle',
    file: FIGURES,
    find: 'return missed.reduce((sum, ms) => sum - Math.max(0, ms), Math.max(0, latest - from));',
    replace: 'return Math.max(missed.length * 0, until - from);',
    unseen: 'A use that no list shows cannot be known, so the oracle counts none in a gap.',
  },
  {
    name: 'idle-without-warm-up',
    loses: 'the time in which a machine loads its program and its data',
    file: FIGURES,
    find: '(runningSince ?? moment.at) >= WARM_UP_MS',
    replace: '(runningSince ?? moment.at) >= 0',
  },
  {
    name: 'idle-after-one-use',
    loses: 'that a use begins the idle time again',
    file: FIGURES,
    find: 'if (last) last.next ??= moment;',
    replace: 'if (last) last.next ??= figures[0]?.next ?? moment;',
    unseen: 'No story of an idle machine fails without it; its unit tests do.',
  },
  {
    name: 'idle-by-few-lists',
    loses: 'that several lists show a machine as idle, however rare they are',
    file: STATE,
    find: 'const MIN_LISTS = 5;',
    replace: 'const MIN_LISTS = 1;',
    unseen: 'The simulated operators read a list each ten seconds.',
  },
  {
    name: 'idle-by-lists-alone',
    loses: 'that a read of the machine agrees',
    file: RULES,
    find: 'return readConfirmation(facts, planned.machine.instanceId, (read) => isBelow(read, below));',
    replace:
      'return below > 100 ? readConfirmation(facts, planned.machine.instanceId, (read) => isBelow(read, below)) : confirmation;',
    unseen: 'No story of an idle machine fails without it; its unit tests do.',
  },
  {
    name: 'idle-extension-ignored',
    loses: 'the time that a person gives an idle machine',
    file: STATE,
    find: 'if (until === undefined)\n    return',
    replace: "if (until !== 'invalid')\n    return",
  },
  {
    name: 'idle-extended-by-nonsense',
    loses: 'that an extension which is no time keeps a machine',
    file: STATE,
    find: "if (until === 'invalid')\n    return { endsInMs: Number.POSITIVE_INFINITY, isDated: true, text, isInvalid: true };",
    replace:
      "if (until === 'invalid')\n    return { endsInMs: Number.NEGATIVE_INFINITY, isDated: true, text, isInvalid: false };",
  },
  {
    name: 'idle-held-machine',
    loses: 'that a person holds an idle machine',
    file: STATE,
    find: 'if (metadata.annotations?.[annotations.hold] !== undefined) return',
    replace: "if (metadata.annotations?.[annotations.hold] === 'never') return",
    also: [
      {
        file: ENDING,
        find: 'return byPerson(facts) ?? byAccount(facts)',
        replace: 'return (facts.object.spec.paused ? byPerson(facts) : undefined) ?? byAccount(facts)',
      },
    ],
  },
  {
    name: 'idle-late-warning-cut',
    loses: 'the whole warning of an end that was noticed late',
    file: STATE,
    find: 'const endsInMs = Math.max(leftMs, extension.endsInMs, warningMs - warnedMs);',
    replace: 'const endsInMs = Math.max(leftMs, extension.endsInMs, -warnedMs);',
  },
  {
    name: 'idle-worker-ended',
    loses: 'that only the load of a group ends its workers',
    file: 'instance/idle.ts',
    find: 'if (spec.idle === undefined || afterMs === undefined || isWorker) return undefined;',
    replace:
      'if (spec.idle === undefined || afterMs === undefined || isWorker === undefined) return undefined;',
    unseen:
      'A template with an idle time is refused, and a group takes it off a worker that a person gives one.',
  },
  {
    name: 'idle-in-mass',
    loses: 'that a marketplace which shows no use at all ends no fleet',
    file: ENDING,
    find: 'byAccount(facts) ?? byIdleBreaker(facts);',
    replace: 'byAccount(facts);',
  },
  {
    name: 'idle-after-hold',
    loses: 'that the maximum hold of the breaker does not prove idleness',
    file: ENDING,
    find: "const isReleased = breaker.type === 'slow' && breaker.releasedBy === 'person';",
    replace: "const isReleased = breaker.type === 'slow';",
  },
  {
    name: 'idle-announced-alone',
    loses: 'that machines which are warned of count with the one that is due',
    file: 'accounts/planned-ends.ts',
    find: 'return isIdleDue ? new Set([...this.#plans.keys(), ...this.#announced.keys()]).size : this.#plans.size;',
    replace: 'return isIdleDue ? this.#plans.size : this.#plans.size;',
  },
  {
    name: 'idle-end-unrecorded',
    loses: 'that no other machine follows one that ended for idleness',
    file: RULES,
    find: 'return step && withEnd(facts, step);',
    replace: 'return step && (facts.clock.now < 0 ? withEnd(facts, step) : step);',
  },
];
