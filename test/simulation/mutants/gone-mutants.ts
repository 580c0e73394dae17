import type { Mutant } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

/** Proofs of absence, surplus and replacement. */
export const GONE_MUTANTS: readonly Mutant[] = [
  {
    name: 'one-list-believed',
    loses: 'the second list before a machine counts as gone',
    file: `${GPU}/settlement.ts`,
    find: 'return known.length >= 2 && first !== undefined && last !== undefined && last - first >= spacingMs;',
    replace: 'return first !== undefined && last !== undefined && spacingMs >= 0;',
  },
  {
    name: 'lists-not-spaced',
    loses: 'the distance between the two lists',
    file: `${GPU}/settlement.ts`,
    find: 'last !== undefined && last - first >= spacingMs;',
    replace: 'last !== undefined && spacingMs >= 0;',
  },
  {
    name: 'gone-without-read',
    loses: 'the single read before a machine counts as gone',
    file: `${GPU}/gone.ts`,
    find: "  if (read === undefined) return { type: 'needsRead' };\n",
    replace: '',
  },
  {
    name: 'failed-read-is-absence',
    loses: 'the difference between a failed read and an absent machine',
    file: `${GPU}/gone.ts`,
    find: "  if (read === 'failed') return { type: 'waiting' };\n",
    replace: '',
  },
  {
    name: 'auth-404-is-gone',
    loses:
      'the difference between 404 auth_error and a machine that is gone, when the words beside it are unknown',
    file: 'markets/vast/errors/classify-failure.ts',
    find: "return kind ?? (status === 404 && code === AUTHENTICATION_CODE ? 'unauthorized' : undefined);",
    replace: "return kind ?? (status < 0 && code === AUTHENTICATION_CODE ? 'unauthorized' : undefined);",
  },
  {
    name: 'present-read-ignored',
    loses: 'a read that shows the machine although the lists do not',
    file: `${GPU}/gone.ts`,
    find: "  if (absence.read === 'present') return { type: 'present' };\n",
    replace: '',
  },
  {
    name: 'answered-destroy-forgotten',
    loses: 'the end of a machine that was given up and that a person removed from the status',
    file: `${GPU}/surplus.ts`,
    find: '    if (facts.memory.destroys.some(({ instanceId }) => instanceId === row.id)) return true;\n',
    replace: '',
  },
  {
    name: 'destroy-forgotten-with-object',
    loses: 'the second destroy of a machine that is listed again after its object is gone',
    file: 'controllers/orphan-sweep/decide.ts',
    find: "policy === 'Report' && !wasDestroyed;",
    replace: "policy === 'Report';",
  },
  {
    name: 'login-not-proven',
    loses: 'the proof of the login before a machine counts as vanished',
    file: `${GPU}/gone.ts`,
    find: "if (mark || loginProven === true) return { type: 'gone' };",
    replace: "if (mark || loginProven !== false) return { type: 'gone' };",
  },
  {
    name: 'lists-before-destroy-count',
    loses: 'the rule that only lists after the destroy count',
    file: `${GPU}/gone.ts`,
    find: 'if (mark) return lists.filter((begun) => begun > mark.answeredAt);',
    replace: 'if (mark) return lists;',
  },
  {
    name: 'young-machine-vanishes',
    loses: 'the time that a new machine may be missing from lists',
    file: `${GPU}/gone.ts`,
    find: 'return lists.filter((begun) => begun >= visibleFrom);',
    replace: 'return lists.filter((begun) => begun >= visibleFrom - 86_400_000);',
  },
  {
    name: 'replaced-before-gone',
    loses: 'the proof that the old machine is gone before the next purchase',
    file: `${GPU}/rules/ending.ts`,
    find: '  if (mark) return awaitGone(facts, planned, mark);\n',
    replace: '  if (mark) return ended(facts, planned, mark.endedAt);\n',
  },
  {
    name: 'replaced-without-destroy',
    loses: 'the destroy of a lost machine',
    file: `${GPU}/rules/ending.ts`,
    find: "return confirmation === 'confirmed' ? decideDestroy(facts, planned, 'Replacing') : confirmation;",
    replace: "return confirmation === 'confirmed' ? ended(facts, planned, facts.clock.now) : confirmation;",
  },
  {
    name: 'surplus-kept',
    loses: 'the destroy of a second machine',
    file: `${GPU}/decide.ts`,
    find: '  if (surplus) return surplus;\n',
    replace: '',
  },
  {
    name: 'surplus-takes-the-recorded',
    loses: 'the preference for the recorded machine',
    file: `${GPU}/surplus.ts`,
    find: "if (row.id === owned?.instanceId || ownership.type !== 'labelled') return false;",
    replace: "if (ownership.type !== 'labelled') return false;",
    unseen: 'The status names the same machine, which protects it too, except after an answered destroy.',
  },
  {
    name: 'surplus-takes-the-newer',
    loses:
      'the rule that a newer purchase is never surplus, and its adoption before anything is judged surplus',
    file: `${GPU}/surplus.ts`,
    find: 'if (attempt < facts.purchase.settledAttempt) return true;',
    replace: 'if (attempt !== facts.purchase.settledAttempt) return true;',
    also: [
      {
        file: `${GPU}/stage.ts`,
        find: '  (facts) => newestLabelled(facts, facts.purchase.settledAttempt + 1),\n',
        replace: '',
      },
    ],
  },
  {
    name: 'no-tolerance',
    loses: 'patience with a machine that is silent for a moment',
    file: `${GPU}/rules/failing.ts`,
    find: 'facts.machine.list?.begunSteady) >= patience;',
    replace: 'facts.machine.list?.begunSteady) >= 0 * patience;',
  },
  {
    name: 'old-list-judges',
    loses: 'the list of its own time by which a machine is given up that does not come up',
    file: `${GPU}/deadlines.ts`,
    find: 'return list.begunSteady >= Math.min(deadline, steadyNow - FRESH_LIST_MS);',
    replace: 'return list.begunSteady < Math.max(deadline, steadyNow + FRESH_LIST_MS);',
    unseen:
      'Before the machine ends, a read must agree with the list, and the read shows a machine that has come up.',
  },
  {
    name: 'unknown-word-is-failure',
    loses: 'the rule that an unknown word is never judged',
    file: `${GPU}/stage.ts`,
    find: "      return { type: 'unrecognized', row };",
    replace: "      return { type: 'failing', row, reason: 'Exited' };",
  },
  {
    name: 'given-up-bills-on',
    loses: 'the destroy of a machine that is listed again after it was given up',
    file: 'controllers/gpu-instance/surplus.ts',
    find: '    if (wasGivenUp(facts, row.id)) return true;\n',
    replace: '',
  },
  {
    name: 'absent-read-believed',
    loses: 'the lists that contradict a read which finds no machine',
    file: `${GPU}/rules/ending.ts`,
    find: "read === 'absent' ? list?.ids.includes(instanceId) === false : agrees(read)",
    replace: "read === 'absent' ? list !== undefined : agrees(read)",
  },
];
