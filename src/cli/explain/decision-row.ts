import type { Action, Decision, Requeue, Stage } from '../../controllers/gpu-instance/public.ts';
import { ageText, exactDollars } from '../../views/amounts.ts';
import type { DecisionRow } from '../../views/explanation.ts';
import type { CheckedExplanation } from './explain-instance.ts';

/** Returns the decision as data for programs. */
export function decisionRow({
  stage,
  decision,
  reads,
  unchecked,
  forecast,
}: CheckedExplanation): DecisionRow {
  return {
    source: 'decision',
    unchecked,
    forecast: forecast && {
      inSeconds: Math.round(forecast.inMs / 1000),
      actions: forecast.actions.map(actionText),
    },
    stage: stageText(stage),
    rule: decision.rule,
    because: decision.because,
    reads,
    records: decision.record.type,
    actions: decision.actions.map(actionText),
    condition: decision.status ? conditionOf(decision.status.verdict) : undefined,
    events: decision.events.map(({ reason, note }) => ({ reason, note })),
    next: requeueText(decision.requeue),
  };
}

function conditionOf({ phase, Ready, ReplacementBlocked }: NonNullable<Decision['status']>['verdict']) {
  const blocked = ReplacementBlocked && { replacementBlocked: ReplacementBlocked.message };
  return { phase, ready: Ready.status, reason: Ready.reason, message: Ready.message, ...blocked };
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
      return `keep machine ${action.instanceId} (${action.policy}); it bills`;
    case 'expire':
      return 'delete the object of the finished run';
    case 'release':
      return 'remove the finalizer, so that the object can be deleted';
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
