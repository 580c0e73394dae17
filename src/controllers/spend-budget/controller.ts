import type { NamespaceBudgets } from '../../accounts/namespace-budgets.ts';
import type { GpuInstance } from '../../api/v1alpha1/gpu-instance.ts';
import { spendBudgetResource } from '../../api/v1alpha1/names.ts';
import type { SpendBudget } from '../../api/v1alpha1/spend-budget.ts';
import { type Controller, type ControllerOptions, conflict, requeueAfter } from '../../runtime/controller.ts';
import type { EventRecorder } from '../../runtime/events.ts';
import type { KubeClient } from '../../runtime/kube/kube-client.ts';
import { objectKey } from '../../runtime/kube/kube-object.ts';
import type { Informer } from '../../runtime/list-watch/informer.ts';
import { createObjectController } from '../../runtime/object-controller.ts';
import { record } from '../../runtime/writes.ts';
import { decide } from './decide.ts';

export interface SpendBudgetControllerOptions
  extends Pick<ControllerOptions, 'clock' | 'random' | 'log' | 'metrics'> {
  readonly kube: KubeClient;
  readonly events: EventRecorder;
  readonly spendBudgets: Informer<SpendBudget>;
  readonly instances: Pick<Informer<GpuInstance>, 'onChange'>;
  readonly budgets: Pick<NamespaceBudgets, 'spend' | 'spendingTime'>;
  /** Budgets of a namespace. */
  readonly budgetsOf: (namespace: string) => readonly SpendBudget[];
}

/** Creates the controller that reports the spending of namespaces against their budgets. */
export function createSpendBudgetController(options: SpendBudgetControllerOptions): Controller {
  const { spendBudgets, instances, budgets, budgetsOf, kube, events } = options;
  const controller = createObjectController<SpendBudget>({
    ...options,
    name: 'spendbudget',
    informer: spendBudgets,
    client: kube,
    resource: spendBudgetResource,
    async reconcile(budget) {
      const spend = budgets.spend(budget.metadata.namespace ?? '');
      const decision = decide({ budget, spend, now: budgets.spendingTime });
      const receipt = await record({
        client: kube,
        resource: spendBudgetResource,
        object: budget,
        status: decision.status,
        onWritten: (written) => spendBudgets.wrote(written),
      });
      if (!receipt) return conflict();
      for (const note of decision.events) events.record({ regarding: receipt.object, ...note });
      return requeueAfter(decision.requeueAfterMs);
    },
  });
  instances.onChange(({ object }) => {
    for (const { metadata } of budgetsOf(object.metadata.namespace ?? ''))
      controller.enqueue(objectKey(metadata));
  });
  return controller;
}
