import { type AccountObjects, listedObjects } from '../accounts/account-objects.ts';
import type { Admission, AdmissionOptions } from '../accounts/admission.ts';
import { shownMonthCost } from '../accounts/budget-rules.ts';
import { NamespaceBudgets } from '../accounts/namespace-budgets.ts';
import type { GpuInstance } from '../api/v1alpha1/gpu-instance.ts';
import type { SpendBudget } from '../api/v1alpha1/spend-budget.ts';
import { summarize } from '../instance/summary.ts';
import { systemClock } from '../lib/clock.ts';
import { permittedInstances } from './limits.ts';
import { listBudgets } from './objects/cluster-objects.ts';
import type { ClusterSession } from './sessions/cluster-session.ts';

/** The budgets of one namespace and the objects that they count. */
interface NamespaceReading {
  /** Budgets of the namespace; undefined if the caller may not list them. */
  readonly budgets: readonly SpendBudget[] | undefined;
  /** Objects of the namespace; undefined if the caller may not list them: then only the figures of the operator count. */
  readonly instances: readonly GpuInstance[] | undefined;
}

/** The budgets of namespaces, read once from the cluster, with the operator's own rules. */
export class ClusterBudgets {
  readonly #readings: ReadonlyMap<string, NamespaceReading>;
  readonly #admissions: Admission[] = [];
  readonly gate: AdmissionOptions['budgets'];

  private constructor(readings: ReadonlyMap<string, NamespaceReading>) {
    this.#readings = readings;
    this.gate = new NamespaceBudgets({
      clock: systemClock,
      settings: { maxDollarsPerHour: Number.POSITIVE_INFINITY },
      budgets: (namespace) => this.#readings.get(namespace)?.budgets ?? [],
      objects: (namespace) => this.#objects(namespace),
      admissions: () => this.#admissions,
      // The operator's figure includes deleted objects.
      monthCost: (namespace) =>
        shownMonthCost(this.#readings.get(namespace)?.budgets ?? [], systemClock.now()),
    });
  }

  /** Reads budgets and objects of these namespaces, without objects that `isLeftOut`. Rejects with a KubeError. */
  static async read(
    cluster: ClusterSession,
    namespaces: readonly string[],
    isLeftOut: (instance: GpuInstance) => boolean = () => false,
  ): Promise<ClusterBudgets> {
    const readings = await Promise.all(
      [...new Set(namespaces)].map(async (namespace) => {
        const budgets = await listBudgets(cluster, namespace);
        const isUsed = budgets !== undefined && budgets.length > 0;
        const instances = isUsed ? await permittedInstances(cluster, namespace) : [];
        return [namespace, { budgets, instances: instances?.filter((one) => !isLeftOut(one)) }] as const;
      }),
    );
    return new ClusterBudgets(new Map(readings));
  }

  /** Adds the spending that this admission allows in its namespaces. */
  add(admission: Admission): void {
    this.#admissions.push(admission);
  }

  /** Returns the remaining amount of each budget of the namespace, by the operator's figures, for people. */
  notesOf(namespace: string): readonly string[] {
    const { budgets } = this.#readings.get(namespace) ?? {};
    if (budgets === undefined) return ['SpendBudgets are not considered: you may not list them'];
    return budgets.map(leftText);
  }

  #objects(namespace: string): AccountObjects {
    const now = systemClock.now();
    const instances = this.#readings.get(namespace)?.instances ?? [];
    return listedObjects(instances.map((instance) => summarize(instance, now, undefined)));
  }
}

function leftText({ metadata, spec, status }: SpendBudget): string {
  const left = [
    ...(spec.perMonth ? [`$${status?.leftThisMonth ?? spec.perMonth} of $${spec.perMonth} this month`] : []),
    ...(spec.perHour ? [`$${status?.leftPerHour ?? spec.perHour}/h of $${spec.perHour}/h`] : []),
  ];
  const effect = spec.action === 'Report' ? ' (it only reports)' : '';
  return `SpendBudget ${metadata.name} has ${left.join(' and ')} left${effect}`;
}
