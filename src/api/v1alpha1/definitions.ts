import type * as z from 'zod';
import { endpointGroupStoredStatus } from './endpoint-group-form.ts';
import { endpointGroupSpec } from './endpoint-group-spec.ts';
import { gpuInstanceSpec } from './gpu-instance.ts';
import { gpuInstanceStoredStatus } from './gpu-instance-form.ts';
import { marketplaceAccountSpec } from './marketplace-account.ts';
import { marketplaceAccountStoredStatus } from './marketplace-account-form.ts';
import {
  endpointGroupResource,
  gpuInstanceResource,
  type KindNames,
  marketplaceAccountResource,
  spendBudgetResource,
} from './names.ts';
import type { CelRule } from './schema.ts';
import { spendBudgetSpec, spendBudgetStatus } from './spend-budget.ts';

/** A column of `kubectl get`. Priority 1 shows it in the wide form only. */
export interface PrinterColumn {
  readonly name: string;
  readonly type: 'string' | 'integer' | 'date';
  readonly jsonPath: string;
  readonly description: string;
  readonly priority?: 1;
}

/** The properties of a CRD, in addition to its names. */
export interface KindDefinition {
  readonly names: KindNames;
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  /** Rules on the whole object, such as its name. */
  readonly rules: readonly CelRule[];
  readonly columns: readonly PrinterColumn[];
  readonly selectableFields: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly scale?: {
    readonly specReplicasPath: string;
    readonly statusReplicasPath: string;
    readonly labelSelectorPath: string;
  };
}

const conditionPath = (type: string, field: string): string =>
  `.status.conditions[?(@.type=="${type}")].${field}`;

const ready: PrinterColumn = {
  name: 'Ready',
  type: 'string',
  jsonPath: conditionPath('Ready', 'status'),
  description: 'True if everything matches the spec',
};
const reason: PrinterColumn = {
  name: 'Reason',
  type: 'string',
  jsonPath: conditionPath('Ready', 'reason'),
  description: 'Why: the reason of the Ready condition',
};
const message: PrinterColumn = {
  name: 'Message',
  type: 'string',
  jsonPath: conditionPath('Ready', 'message'),
  description: 'Reason of the Ready condition',
  priority: 1,
};
const age: PrinterColumn = {
  name: 'Age',
  type: 'date',
  jsonPath: '.metadata.creationTimestamp',
  description: 'Time since creation',
};

/** Returns a rule for names that labels, Secrets and a Service can contain; `longest` leaves room for a suffix. */
function nameFits(longest: number): CelRule {
  return {
    rule: `size(self.metadata.name) <= ${longest}`,
    message: `write a name of at most ${longest} characters: children carry it in names and labels`,
    fieldPath: '.metadata.name',
  };
}

const LABEL = "'^[a-z]([-a-z0-9]*[a-z0-9])?$'";

export const marketplaceAccountDefinition: KindDefinition = {
  names: marketplaceAccountResource,
  description: 'A login at a GPU marketplace: its key, its limits, and the monitoring of its machines.',
  spec: marketplaceAccountSpec,
  status: marketplaceAccountStoredStatus,
  rules: [nameFits(63)],
  columns: [
    ready,
    reason,
    { name: 'User', type: 'string', jsonPath: '.status.login.userId', description: 'The pinned login' },
    {
      name: 'Machines',
      type: 'integer',
      jsonPath: '.status.machines.billing',
      description: 'Rented machines that bill',
    },
    {
      name: '$/h',
      type: 'string',
      jsonPath: '.status.pricePerHour',
      description: 'Hourly cost of all machines',
    },
    { name: 'Credit', type: 'string', jsonPath: '.status.credit', description: 'Credit left' },
    age,
    {
      name: 'URL',
      type: 'string',
      jsonPath: '.status.login.url',
      description: 'The marketplace',
      priority: 1,
    },
    {
      name: 'Orphans',
      type: 'integer',
      jsonPath: '.status.machines.orphaned',
      description: 'Machines that no object claims',
      priority: 1,
    },
    {
      name: 'Runway',
      type: 'string',
      jsonPath: '.status.runway',
      description: 'Time until the credit is used up',
      priority: 1,
    },
    message,
  ],
  selectableFields: [],
};

export const gpuInstanceDefinition: KindDefinition = {
  names: gpuInstanceResource,
  description: 'A rented GPU machine: offers to rent from, the container, and the actions when it ends.',
  spec: gpuInstanceSpec,
  status: gpuInstanceStoredStatus,
  rules: [
    nameFits(63),
    {
      rule: `!self.spec.service.enabled || has(self.spec.completion) || self.metadata.name.matches(${LABEL})`,
      message:
        'write a name of lower case letters, digits and "-" that begins with a letter, since the Service has the same name; or set service.enabled: false',
      fieldPath: '.metadata.name',
    },
  ],
  columns: [
    { name: 'Phase', type: 'string', jsonPath: '.status.phase', description: 'The state in one word' },
    {
      name: 'GPU',
      type: 'string',
      jsonPath: '.status.machine.gpu',
      description: 'The model that was rented',
    },
    { name: 'Count', type: 'integer', jsonPath: '.status.machine.gpuCount', description: 'How many' },
    {
      name: '$/h',
      type: 'string',
      jsonPath: '.status.cost.pricePerHour',
      description: 'Hourly cost',
    },
    {
      name: 'Endpoint',
      type: 'string',
      jsonPath: '.status.endpoint.address',
      description: 'Address',
    },
    ready,
    reason,
    {
      name: 'Exit',
      type: 'integer',
      jsonPath: '.status.run.exitCode',
      description: 'Exit code of the last program of a run',
      priority: 1,
    },
    age,
    {
      name: 'Host',
      type: 'string',
      jsonPath: '.status.machine.host',
      description: 'The host that owns the machine',
      priority: 1,
    },
    {
      name: 'Image',
      type: 'string',
      jsonPath: '.spec.image',
      description: 'The container image',
      priority: 1,
    },
    message,
  ],
  selectableFields: ['.status.phase', '.status.machine.gpu'],
  labels: { 'servicebinding.io/provisioned-service': 'true' },
};

export const endpointGroupDefinition: KindDefinition = {
  names: endpointGroupResource,
  description:
    'Workers that follow a load: GpuInstances that run (hot) or are stopped (cold), and one Service for them.',
  spec: endpointGroupSpec,
  status: endpointGroupStoredStatus,
  rules: [
    nameFits(50),
    {
      rule: `has(self.spec.endpointName) || self.metadata.name.matches(${LABEL})`,
      message:
        'write a name of lower case letters, digits and "-" that begins with a letter, since the Service has the same name; or set endpointName',
      fieldPath: '.metadata.name',
    },
  ],
  columns: [
    {
      name: 'Hot',
      type: 'integer',
      jsonPath: '.status.replicas',
      description: 'Workers that run or are starting',
    },
    { name: 'Cold', type: 'integer', jsonPath: '.status.cold', description: 'Workers that can be woken' },
    {
      name: 'Serving',
      type: 'integer',
      jsonPath: '.status.ready',
      description: 'Hot workers that are ready and published',
    },
    { name: 'Load', type: 'string', jsonPath: '.status.load', description: 'Work that arrives per second' },
    {
      name: 'Util%',
      type: 'integer',
      jsonPath: '.status.utilizationPercent',
      description: 'Share of the capacity in use',
    },
    {
      name: '$/h',
      type: 'string',
      jsonPath: '.status.pricePerHour',
      description: 'Hourly cost of all workers',
    },
    ready,
    reason,
    age,
    {
      name: 'Endpoint',
      type: 'string',
      jsonPath: '.status.endpoint',
      description: 'Address of the Service',
      priority: 1,
    },
    {
      name: 'Rule',
      type: 'string',
      jsonPath: '.status.autoscaling.rule',
      description: 'The rule that decided',
      priority: 1,
    },
    message,
  ],
  selectableFields: ['.status.phase'],
  scale: {
    specReplicasPath: '.spec.replicas',
    statusReplicasPath: '.status.replicas',
    labelSelectorPath: '.status.selector',
  },
};

export const spendBudgetDefinition: KindDefinition = {
  names: spendBudgetResource,
  description: 'A limit on what all machines of a namespace may cost together, over all accounts.',
  spec: spendBudgetSpec,
  status: spendBudgetStatus,
  rules: [],
  columns: [
    { name: 'Month', type: 'string', jsonPath: '.spec.perMonth', description: 'Budget of a calendar month' },
    {
      name: 'Spent',
      type: 'string',
      jsonPath: '.status.spentThisMonth',
      description: 'Spent in the calendar month (UTC)',
    },
    { name: 'Hour', type: 'string', jsonPath: '.spec.perHour', description: 'Budget of an hour' },
    {
      name: '$/h',
      type: 'string',
      jsonPath: '.status.pricePerHour',
      description: 'Hourly cost of all machines',
    },
    {
      name: 'Exceeded',
      type: 'string',
      jsonPath: conditionPath('Exceeded', 'status'),
      description: 'True if the budget is used up',
    },
    ready,
    reason,
    age,
    { name: 'Action', type: 'string', jsonPath: '.spec.action', description: 'Block or Report', priority: 1 },
    {
      name: 'Left',
      type: 'string',
      jsonPath: '.status.leftThisMonth',
      description: 'Left of the month',
      priority: 1,
    },
    message,
  ],
  selectableFields: [],
};

/** All kinds of the group, in the order of documentation. */
export const definitions: readonly KindDefinition[] = [
  marketplaceAccountDefinition,
  gpuInstanceDefinition,
  endpointGroupDefinition,
  spendBudgetDefinition,
];
