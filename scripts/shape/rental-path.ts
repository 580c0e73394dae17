/**
 * The main line of one rental: from the runtime, whose worker has read a new GpuInstance, to the status write with its
 * machine. A row is a call from one file into another: caller, callee, and the called name. A call
 * that repeats, such as the write of a record, is one row, a return is none, and the calls inside `accounts`,
 * `marketplace` or `runtime` are not followed. Many rows lead to a leaf: a file that answers, and calls no other
 * file of the path. Written down by the same rule, the revision reconciler of knative (knative/serving@98e5ef9) has
 * about 18 rows, of which 8 lead on.
 *
 * Declared by hand, because callbacks and interfaces hide the callee from a static search. `npm run shape` checks
 * each row against the sources and names the rows that no longer hold: a change that moves the path moves its rows.
 */
export const RENTAL_PATH: readonly (readonly [caller: string, callee: string, call: string])[] = [
  ['runtime/object-controller.ts', 'controllers/gpu-instance/controller.ts', 'reconcile'],
  ['controllers/gpu-instance/controller.ts', 'controllers/gpu-instance/reconcile.ts', 'reconcile'],
  ['controllers/gpu-instance/reconcile.ts', 'controllers/gpu-instance/observe.ts', 'observe'],
  ['controllers/gpu-instance/reconcile.ts', 'controllers/gpu-instance/reads.ts', 'decideWithReads'],
  ['controllers/gpu-instance/reads.ts', 'controllers/gpu-instance/decide.ts', 'decide'],
  ['controllers/gpu-instance/decide.ts', 'controllers/gpu-instance/facts.ts', 'deriveFacts'],
  ['controllers/gpu-instance/decide.ts', 'controllers/gpu-instance/rules/unrented.ts', 'whileUnrented'],
  ['controllers/gpu-instance/rules/unrented.ts', 'controllers/gpu-instance/rules/purchase.ts', 'purchase'],
  ['controllers/gpu-instance/reads.ts', 'controllers/gpu-instance/preflight-reads.ts', 'readPreflight'],
  ['controllers/gpu-instance/preflight-reads.ts', 'controllers/gpu-instance/rental-inputs.ts', 'readInputs'],
  ['controllers/gpu-instance/reads.ts', 'runtime/controller.ts', 'aside'],
  ['controllers/gpu-instance/reads.ts', 'accounts/queue/admission-queue.ts', 'offers'],
  ['controllers/gpu-instance/rules/purchase.ts', 'controllers/gpu-instance/offers.ts', 'chooseOffer'],
  ['controllers/gpu-instance/reconcile.ts', 'runtime/kube/access-review.ts', 'may'],
  ['controllers/gpu-instance/reconcile.ts', 'controllers/gpu-instance/record.ts', 'record'],
  ['controllers/gpu-instance/record.ts', 'accounts/admission.ts', 'request'],
  ['controllers/gpu-instance/record.ts', 'runtime/writes.ts', 'recordOn'],
  ['controllers/gpu-instance/reconcile.ts', 'controllers/gpu-instance/act.ts', 'act'],
  ['controllers/gpu-instance/act.ts', 'markets/vast/instances/rent.ts', 'rent'],
  ['controllers/gpu-instance/reconcile.ts', 'controllers/gpu-instance/rules/rented.ts', 'saveRented'],
  ['controllers/gpu-instance/record.ts', 'controllers/gpu-instance/conditions.ts', 'statusOf'],
];
