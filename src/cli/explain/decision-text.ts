import type { Action, Decision, Explained, Requeue, Stage } from '../../controllers/gpu-instance/public.ts';
import { ageText, exactDollars } from '../output/amounts.ts';

/** The decision as data for machines. */
export function decisionRow({ stage, decision, reads }: Explained) {
  return {
    stage: stageText(stage),
    rule: decision.rule,
    reads,
    records: decision.record.type,
    actions: decision.actions.map(actionText),
    condition: decision.status ? conditionOf(decision.status.verdict) : undefined,
    events: decision.events.map(({ reason, note }) => ({ reason, note })),
    next: requeueText(decision.requeue),
  };
}

function conditionOf({ phase, Ready }: NonNullable<Decision['status']>['verdict']) {
  return { phase, ready: Ready.status, reason: Ready.reason, message: Ready.message };
}

/** The same for people. */
export function decisionText(row: ReturnType<typeof decisionRow>): string {
  const { condition } = row;
  const facts: readonly (readonly [string, string | undefined])[] = [
    ['Stage', row.stage],
    ['Rule', row.rule || '(none had to fire)'],
    ['Read', row.reads.length > 0 ? row.reads.join(', ') : undefined],
    [
      'Would set',
      condition && `${condition.phase}; Ready ${condition.ready}, ${condition.reason}: ${condition.message}`,
    ],
    ['Would do', row.actions.length > 0 ? row.actions.join('; ') : 'nothing'],
    ['Then', row.next],
  ];
  return facts
    .flatMap(([label, text]) => (text === undefined ? [] : [`${`${label}:`.padEnd(11)} ${text}\n`]))
    .join('');
}

function stageText(stage: Stage): string {
  switch (stage.type) {
    case 'machine':
      return `machine ${stage.machine.instanceId} is ${stage.state.type}`;
    case 'blocked':
      return `held: ${stage.reason}, ${stage.detail}`;
    case 'found':
      return `machine ${stage.instanceId} was found by its label`;
    case 'pending':
      return 'the outcome of a rental is not yet known';
    case 'unrented':
      return `unrented after ${stage.attempt} rentals`;
    default:
      return stage.type;
  }
}

function actionText(action: Action): string {
  switch (action.type) {
    case 'rent': {
      const { offer, pricePerHour, attempt } = action.purchase;
      const price = pricePerHour === undefined ? 'an unknown price' : `${exactDollars(pricePerHour)}/h`;
      return `rent offer ${offer.id} (${offer.gpuName ?? 'GPU'}) at ${price} as rental ${attempt}`;
    }
    case 'destroy':
      return `destroy machine ${action.instanceId} (${action.reason})`;
    case 'relabel':
    case 'stop':
    case 'start':
      return `${action.type} machine ${action.instanceId}`;
    case 'retain':
      return `leave machine ${action.instanceId} behind (${action.policy}); it bills`;
    case 'release':
      return 'take the finalizer away, so that the object can go';
  }
}

function requeueText({ afterMs, onList }: Requeue): string {
  const times = [
    ...(onList ? ['after the next list of machines'] : []),
    ...(afterMs === undefined ? [] : [`in ${ageText(afterMs)} at the latest`]),
  ];
  return times.length === 0
    ? 'reconciles again when something changes'
    : `reconciles again ${times.join(', ')}`;
}
