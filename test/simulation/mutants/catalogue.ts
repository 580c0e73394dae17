/** One safety step removed or weakened, as a text patch of one production file. */
export interface Mutant {
  readonly name: string;
  /** What is lost, for the table. */
  readonly loses: string;
  /** Under `src/`. */
  readonly file: string;
  /** Stands exactly once in the file. */
  readonly find: string;
  readonly replace: string;
}

const GPU = 'controllers/gpu-instance';

/** Before the money: intent, fence, numbering. */
const PURCHASE: readonly Mutant[] = [
  {
    name: 'no-intent',
    loses: 'the intent on the object before the call',
    file: `${GPU}/record.ts`,
    find: '    annotations: { [annotations.rentalIntent]: intent },\n',
    replace: '',
  },
  {
    name: 'no-finalizer-with-intent',
    loses: 'the guard that is set together with the intent',
    file: `${GPU}/record.ts`,
    find: '    finalizers: guarded,\n',
    replace: '',
  },
  {
    name: 'unfenced-intent',
    loses: 'the resource version under which the intent is written',
    file: `${GPU}/record.ts`,
    find: '    resourceVersion,\n    finalizers: guarded,',
    replace: '    finalizers: guarded,',
  },
  {
    name: 'same-attempt-again',
    loses: 'a number of its own for each purchase',
    file: `${GPU}/rules/purchase.ts`,
    find: 'const attempt = stage.attempt + 1;',
    replace: 'const attempt = Math.max(1, stage.attempt);',
  },
  {
    name: 'forgets-open-attempt',
    loses: 'the number of a purchase that came to nothing',
    file: `${GPU}/stage.ts`,
    find: 'attempt: openIntent(observed)?.attempt ?? settledAttempt(observed) };',
    replace: 'attempt: settledAttempt(observed) };',
  },
  {
    name: 'attempt-not-recorded',
    loses: 'the attempt in the status of a new machine',
    file: `${GPU}/rules/rented.ts`,
    find: '    ...fields,\n    attempt,\n',
    replace: '    ...fields,\n',
  },
  {
    name: 'blind-retry',
    loses: 'the rule that a rent call is never repeated',
    file: `${GPU}/act.ts`,
    find: 'const answer = await session.client.instances.rent(intent.offer, purchase.request, options);',
    replace:
      'const send = () => session.client.instances.rent(intent.offer, purchase.request, options);\n    const answer = await send().catch(send);',
  },
  {
    name: 'old-intent-is-used',
    loses: 'the age that an intent may have when its call is sent',
    file: `${GPU}/act.ts`,
    find: 'if (ticket.use() && age >= 0 && age <= OLDEST_INTENT_MS && left > 0) return left;',
    replace: 'if (ticket.use() || age <= OLDEST_INTENT_MS * 1e6) return Math.max(1_000, left);',
  },
  {
    name: 'lost-race-rents-anyway',
    loses: 'the end of a pass whose intent was refused by a conflict',
    file: `${GPU}/record.ts`,
    find: "    ticket.settle({ rented: false });\n    if (isKubeError(error, 'conflict', 'notFound')) return { type: 'lost' };",
    replace:
      "    if (isKubeError(error)) return { type: 'purchase', receipt: purchaseReceipt(observed.object, intent, ticket) };",
  },
];

/** After the call: outcome unknown, settling, finding by label. */
const SETTLING: readonly Mutant[] = [
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
    file: `${GPU}/settle.ts`,
    find: 'return deadlineOf(intent, observed) + lateCallMs + listLagMs;',
    replace: 'return deadlineOf(intent, observed) - 3_600_000 + 0 * (lateCallMs + listLagMs);',
  },
  {
    name: 'settle-5s',
    loses: 'most of the waiting for a late call',
    file: `${GPU}/settle.ts`,
    find: 'return deadlineOf(intent, observed) + lateCallMs + listLagMs;',
    replace: 'return intent.issuedAt + 5_000 + 0 * (lateCallMs + listLagMs);',
  },
  {
    name: 'settle-without-late-call',
    loses: 'the time that a service may carry a call out late',
    file: `${GPU}/settle.ts`,
    find: 'return deadlineOf(intent, observed) + lateCallMs + listLagMs;',
    replace: 'return deadlineOf(intent, observed) + 0 * lateCallMs + listLagMs;',
  },
  {
    name: 'any-list-settles',
    loses: 'the rule that only lists begun after the deadline count',
    file: `${GPU}/settle.ts`,
    find: 'if (countable && observed.listsBegun.some((begun) => begun > at))',
    replace: 'if (countable && observed.listsBegun.length > 0)',
  },
  {
    name: 'label-not-looked-for',
    loses: 'finding a machine by the label of its purchase',
    file: `${GPU}/settle.ts`,
    find: '  if (found) return found;\n',
    replace: '',
  },
  {
    name: 'newer-label-ignored',
    loses: 'adoption of a machine with a newer attempt',
    file: `${GPU}/stage.ts`,
    find: '  (observed) => newestLabelled(observed, settledAttempt(observed) + 1),\n',
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

/** Proofs of absence, surplus and replacement. */
const GONE: readonly Mutant[] = [
  {
    name: 'one-list-believed',
    loses: 'the second list before a machine counts as gone',
    file: `${GPU}/gone.ts`,
    find: 'return begun.length >= 2 && first !== undefined && last !== undefined && last - first >= spacingMs;',
    replace: 'return first !== undefined && last !== undefined && spacingMs >= 0;',
  },
  {
    name: 'lists-not-spaced',
    loses: 'the distance between the two lists',
    file: `${GPU}/gone.ts`,
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
    name: 'present-read-ignored',
    loses: 'a read that shows the machine although the lists do not',
    file: `${GPU}/gone.ts`,
    find: "  if (absence.read === 'present') return { type: 'present' };\n",
    replace: '',
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
    find: 'return lists.filter((begun) => begun >= from);',
    replace: 'return lists.filter((begun) => begun >= from - 86_400_000);',
  },
  {
    name: 'replaced-before-gone',
    loses: 'the proof that the old machine is gone before the next purchase',
    file: `${GPU}/rules/ending.ts`,
    find: '  if (mark) return awaitGone(observed, wish, mark);\n',
    replace: '  if (mark) return ended(observed, wish, mark.endedAt);\n',
  },
  {
    name: 'replaced-without-destroy',
    loses: 'the destroy of a lost machine',
    file: `${GPU}/rules/ending.ts`,
    find: "  return heldBack(observed, wish) ?? destroy(observed, wish, 'Replacing');",
    replace: '  return heldBack(observed, wish) ?? ended(observed, wish, observed.now);',
  },
  {
    name: 'surplus-kept',
    loses: 'the destroy of a second machine',
    file: `${GPU}/decide.ts`,
    find: '    if (surplus) return surplus;\n',
    replace: '',
  },
  {
    name: 'surplus-takes-the-recorded',
    loses: 'the preference for the recorded machine',
    file: `${GPU}/surplus.ts`,
    find: "if (row.id === recorded?.instanceId || ownership.type !== 'labelled') return false;",
    replace: "if (ownership.type !== 'labelled') return false;",
  },
  {
    name: 'surplus-takes-the-newer',
    loses: 'the rule that a newer purchase is never surplus',
    file: `${GPU}/surplus.ts`,
    find: 'if (attempt < settledAttempt(observed)) return true;',
    replace: 'if (attempt !== settledAttempt(observed)) return true;',
  },
  {
    name: 'no-tolerance',
    loses: 'patience with a machine that is silent for a moment',
    file: `${GPU}/rules/failing.ts`,
    find: 'return observed.steadyNow - since >= (parseDuration(patience) ?? 0);',
    replace: 'return observed.steadyNow - since >= 0 * (parseDuration(patience) ?? 0);',
  },
  {
    name: 'unknown-word-is-failure',
    loses: 'the rule that an unknown word is never judged',
    file: `${GPU}/stage.ts`,
    find: "({ type: 'unrecognized', row });",
    replace: "({ type: 'failing', row, reason: 'Exited' });",
  },
];

/** Teardown. */
const TEARDOWN: readonly Mutant[] = [
  {
    name: 'finalizer-after-delete',
    loses: 'the proof that nothing is left before the finalizer goes',
    file: `${GPU}/rules/deleting.ts`,
    find: 'decide: confirmGone },',
    replace: 'decide: () => undefined },',
  },
  {
    name: 'finalizer-before-settling',
    loses: 'the resolution of an open intent before the finalizer goes',
    file: `${GPU}/rules/deleting.ts`,
    find: '    decide: settleFirst,\n',
    replace: '    decide: () => undefined,\n',
  },
  {
    name: 'finalizer-at-once',
    loses: 'the destroy before the finalizer goes',
    file: `${GPU}/rules/deleting.ts`,
    find: 'decide: destroyAll },',
    replace: 'decide: () => undefined },',
  },
  {
    name: 'intent-forgotten-on-delete',
    loses: 'the open intent of an object without a machine',
    file: `${GPU}/rules/deleting.ts`,
    find: "const onRecord = intent.type !== 'none' || instanceId !== undefined || claim !== undefined;",
    replace:
      "const onRecord = intent.type === 'tampered' || instanceId !== undefined || claim !== undefined;",
  },
  {
    name: 'labelled-machines-left',
    loses: 'the destroy of machines that only their label names',
    file: `${GPU}/rules/teardown-machines.ts`,
    find: '    ...labelled.map(({ row }) => row.id),\n',
    replace: '',
  },
  {
    name: 'truncated-list-believed',
    loses: 'the count that proves a list complete',
    file: 'marketplace/instance-reads.ts',
    find: '  if (found !== instances.length) {',
    replace: '  if (found === -1) {',
  },
];

/** Whose machine it is, and when sweeping stops. */
const OWNERSHIP: readonly Mutant[] = [
  {
    name: 'no-mac',
    loses: 'the codes of labels, claims and intents',
    file: 'ownership/key-ring.ts',
    find: '  return ring.some((key) => timingSafeEqual(digest(key, purpose, signed.parts), given));',
    replace: '  return ring.length > 0 && given.length > 0;',
  },
  {
    name: 'label-window-ignored',
    loses: 'the time in which a label fits a machine',
    file: 'ownership/ours.ts',
    find: "return { type: inside ? 'labelled' : 'labelCopied', facts };",
    replace: "return { type: inside || row.id > 0 ? 'labelled' : 'labelCopied', facts };",
  },
  {
    name: 'install-id-and-mac-ignored',
    loses: 'the installation in a label, and its code',
    file: 'ownership/label.ts',
    find: "  if (!macVerifies(identity.keys, retained ? 'retained' : 'label', { parts, mac })) return undefined;\n  return { uid",
    replace: '  return { uid',
  },
  {
    name: 'claim-not-verified',
    loses: 'the code of a recorded machine',
    file: 'ownership/claim.ts',
    find: "return claim !== undefined && macVerifies(keys, 'claim', { parts: claimParts(facts), mac: claim });",
    replace: 'return claimParts(facts).length > 0 && keys.length > 0 && claim !== null;',
  },
  {
    name: 'sweep-first-sight',
    loses: 'the second sweep before an orphan counts',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'const SWEEPS_TO_BELIEVE = 2;',
    replace: 'const SWEEPS_TO_BELIEVE = 1;',
  },
  {
    name: 'sweep-young',
    loses: 'the age before an orphan counts',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'applies: ({ startedAt = 0 }, { now, orphanAgeMs }) => now - startedAt < orphanAgeMs,',
    replace: 'applies: ({ startedAt = 0 }, { now, orphanAgeMs }) => now - startedAt < 0 * orphanAgeMs,',
  },
  {
    name: 'sweep-never',
    loses: 'the destroy of orphans',
    file: 'controllers/orphan-sweep/decide.ts',
    find: 'const destroys = kept === undefined ? orphans.map(destroy) : [];',
    replace: 'const destroys = kept === undefined ? orphans.slice(0, 0).map(destroy) : [];',
  },
  {
    name: 'sweep-despite-report',
    loses: 'the orphan policy',
    file: 'controllers/orphan-sweep/decide.ts',
    find: "applies: (_, { policy }) => policy === 'Report' },",
    replace: "applies: (_, { policy }) => policy !== 'Report' && policy !== 'Destroy' },",
  },
  {
    name: 'breaker-off',
    loses: 'the breaker on mass failure',
    file: 'accounts/breaker.ts',
    find: '  if (newlyBad > allowed) {',
    replace: '  if (newlyBad > allowed + 1_000_000) {',
  },
  {
    name: 'breaker-ignores-failed-lists',
    loses: 'the breaker on a failing list',
    file: 'accounts/breaker.ts',
    find: "if (poll.type === 'failed') return listFailed(memory, poll.at);",
    replace: "if (poll.type === 'failed') return memory;",
  },
  {
    name: 'breaker-closes-at-once',
    loses: 'the calm polls before the breaker closes',
    file: 'accounts/breaker.ts',
    find: 'const CALM_POLLS_TO_CLOSE = 2;',
    replace: 'const CALM_POLLS_TO_CLOSE = 0;',
  },
];

/** Every mutant; each has to be found by the simulation or by the unit tables. */
export const MUTANTS: readonly Mutant[] = [...PURCHASE, ...SETTLING, ...GONE, ...TEARDOWN, ...OWNERSHIP];
