import type { Chance } from './chance.ts';
import type { Kubectl } from './kubectl.ts';
import { type JsonObject, objectAt } from './memory-kube/json.ts';

const PLURAL = 'spendbudgets';
/** Names of budgets; several of a namespace all have to agree. */
const NAMES = ['team', 'extra'] as const;
/** Machines cost $0.30 to $0.32 per hour: room for none, one, two, three or four, and for one with an unknown price. */
const HOURLY = ['0.20', '0.40', '0.70', '1.00', '1.35'] as const;
/** A machine costs about five cents in ten minutes, and a rental needs room for one more hour of all machines. */
const MONTHLY = ['0.02', '0.36', '0.70', '1.05'] as const;
/** Beyond every schedule. */
const AMPLE = '100';

/** Administrator who sets, changes and removes budgets of namespaces. */
export class BudgetOwner {
  readonly #kubectl: Kubectl;

  constructor(kubectl: Kubectl) {
    this.#kubectl = kubectl;
  }

  /** Performs one random action on a budget of the usual namespace, or of the other one if that is given. */
  act(chance: Chance, otherNamespace: string | undefined): void {
    const kubectl = this.#kubectl;
    const isOther = otherNamespace !== undefined && chance.isWithin(0.4);
    const called = `${chance.oneOf(NAMES)}${isOther ? `.${otherNamespace}` : ''}`;
    const spec = anySpec(chance);
    if (!kubectl.names(PLURAL).includes(called))
      kubectl.create(PLURAL, called, { apiVersion: 'gpurental.dev/v1alpha1', kind: 'SpendBudget', spec });
    else if (chance.isWithin(0.2))
      kubectl.delete(kubectl.address(PLURAL, called), `deletes the budget ${called}`);
    else this.#edit(called, spec);
  }

  /** Leaves no budget that keeps an object from its machine: some are removed, the others raised. */
  settle(): void {
    const kubectl = this.#kubectl;
    for (const [index, called] of kubectl.names(PLURAL).entries())
      if (index % 2 === 1) kubectl.delete(kubectl.address(PLURAL, called), `deletes the budget ${called}`);
      else this.#edit(called, { perHour: AMPLE, perMonth: AMPLE, action: 'Block', onExceeded: 'Continue' });
  }

  #edit(called: string, spec: JsonObject): void {
    this.#kubectl.edit(this.#kubectl.address(PLURAL, called), {
      what: `sets the budget ${called} to ${JSON.stringify(spec)}`,
      change: (current) => ({ ...current, spec: { ...objectAt(current, 'spec'), ...spec } }),
    });
  }
}

function anySpec(chance: Chance): JsonObject {
  const hour = { perHour: chance.oneOf(HOURLY) };
  const month = { perMonth: chance.oneOf(MONTHLY) };
  const action = chance.isWithin(0.15) ? 'Report' : 'Block';
  if (chance.isWithin(0.7)) return { ...hour, perMonth: AMPLE, action, onExceeded: 'Continue' };
  const onExceeded = action === 'Block' && chance.isWithin(0.4) ? 'Stop' : 'Continue';
  return { ...(chance.isWithin(0.5) && hour), ...month, action, onExceeded };
}
