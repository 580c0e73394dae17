import type { Mutant } from './mutant.ts';

const GPU = 'controllers/gpu-instance';

/** Before the money: intent, fence, numbering. */
export const PURCHASE_MUTANTS: readonly Mutant[] = [
  {
    name: 'no-intent',
    loses: 'the intent on the object before the call',
    file: `${GPU}/record.ts`,
    find: '        annotations: { [annotations.rentalIntent]: writeIntent(session.identity.keys, intent) },\n',
    replace: '',
  },
  {
    name: 'no-finalizer-with-intent',
    loses: 'the guard that is set together with the intent',
    file: `${GPU}/record.ts`,
    find: '        finalizer: MACHINE_FINALIZER,\n        annotations',
    replace: '        annotations',
  },
  {
    name: 'unfenced-intent',
    loses: 'the resource version under which the intent is written',
    file: 'runtime/writes.ts',
    find: 'const body = { metadata: { uid, resourceVersion, ...change(finalizers) } };',
    replace:
      'const changes = change(finalizers);\n    const body = { metadata: { uid, ...(changes.annotations ? {} : { resourceVersion }), ...changes } };',
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
    find: 'attempt: facts.purchase.openIntent?.attempt ?? facts.purchase.settledAttempt };',
    replace: 'attempt: facts.purchase.settledAttempt };',
  },
  {
    name: 'attempt-not-recorded',
    loses: 'the attempt in the status of a new machine',
    file: `${GPU}/rules/rented.ts`,
    find: '    ...(run && { run }),\n    attempt,\n',
    replace: '    ...(run && { run }),\n',
  },
  {
    name: 'blind-retry',
    loses: 'the rule that a rent call is never repeated',
    file: `${GPU}/act.ts`,
    find: 'const answer = await session.market.rent(intent.offer, purchase.request, options);',
    replace:
      'const send = () => session.market.rent(intent.offer, purchase.request, options);\n    const answer = await send().catch(send);',
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
    file: 'runtime/writes.ts',
    find: 'const write = await addMarks({ client, resource, object, finalizer, annotations });',
    replace:
      "const write = await addMarks({ client, resource, object, finalizer, annotations });\n    if (write.type === 'conflict' && annotations) return receiptOf(object);",
  },
];
