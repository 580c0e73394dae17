import type { Action, Step, Verdict } from '../../src/controllers/gpu-instance/types.ts';

/** Returns the short form of a step for expectations. It contains everything that has an effect. */
export function outline(step: Step): Record<string, unknown> {
  if (step.type === 'read') return { reads: step.requests };
  if (step.type === 'publish') return { publish: step.publication.serving };
  const { status } = step;
  return {
    rule: step.rule,
    ...(step.record.type === 'nothing' ? {} : { record: step.record.type }),
    ...(step.actions.length > 0 ? { actions: step.actions.map(actionOutline) } : {}),
    ...(status ? { phase: status.verdict.phase, says: readiness(status.verdict) } : {}),
    ...(status?.verdict.ReplacementBlocked?.reason === 'ReplacementBlocked' ? { kept: true } : {}),
    ...(step.avoid.length > 0
      ? { avoid: step.avoid.map(({ target }) => `${target.type} ${target.id}`) }
      : {}),
    ...(step.settled.length > 0 ? { settled: step.settled } : {}),
    ...(step.requeue.afterMs === undefined ? {} : { afterMs: step.requeue.afterMs }),
    ...(step.requeue.onList ? { onList: true } : {}),
    ...(step.requeue.asksForList ? { asksForList: true } : {}),
  };
}

function actionOutline(action: Action): string {
  switch (action.type) {
    case 'rent':
      return `rent ${action.purchase.offer.id} as ${action.purchase.attempt}`;
    case 'destroy':
      return `destroy ${action.instanceId} (${action.reason})`;
    case 'retain':
      return `retain ${action.instanceId} (${action.policy})`;
    case 'expire':
    case 'release':
      return action.type;
    case 'stop':
    case 'start':
    case 'relabel':
      return `${action.type} ${action.instanceId}`;
  }
}

/** `Ready`, or why it is not; and whether a person has to act. */
function readiness(verdict: Verdict): string {
  const { Ready, Stalled, Reconciling } = verdict;
  if (Ready.status === 'True') return Reconciling ? `Ready, ${Reconciling.reason}` : 'Ready';
  if (Stalled) return `stalled: ${Stalled.reason}`;
  return Reconciling && Reconciling.reason !== Ready.reason
    ? `${Ready.reason}, ${Reconciling.reason}`
    : Ready.reason;
}
