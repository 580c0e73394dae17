import * as z from 'zod';
import { type CustomObject, conditions, observedGeneration } from './object.ts';
import { choice, dollars, notes, text } from './schema.ts';

export const spendBudgetSpec = z
  .object({
    perHour: dollars({
      description:
        'Maximum hourly cost of all machines of the namespace, including machines that are being rented or started. A machine with an unknown price counts at its maximum price. 0: nothing is rented or started.',
      example: '"5"',
    }).optional(),
    perMonth: dollars({
      description:
        'Maximum cost of the namespace in one calendar month (UTC). A rental or a start needs room for one more hour of all machines. 0: nothing is rented or started.',
      example: '"500"',
    }).optional(),
    action: choice(['Block', 'Report'], {
      description:
        'Block: nothing is rented or started beyond the budget, with the reason `BudgetReached`. Report: the budget only has a status, metrics and events.',
    }).default('Block'),
    onExceeded: choice(['Continue', 'Stop'], {
      description:
        'What happens to running machines when the month has cost `perMonth`. Continue: they keep running and billing. Stop: they are stopped like those with `powerState: Stopped`, and started again when the budget has room; their disks keep billing. A machine with the annotation `gpurental.dev/hold`, and one that cannot be stopped, keeps running.',
    }).default('Continue'),
  })
  .meta(
    notes({
      description: 'The desired state.',
      rules: [
        {
          rule: 'has(self.perHour) || has(self.perMonth)',
          message: 'write perHour, perMonth, or both',
          reason: 'FieldValueRequired',
        },
        {
          rule: "self.onExceeded != 'Stop' || has(self.perMonth)",
          message: 'write perMonth: onExceeded: Stop stops machines when the month has cost that much',
          fieldPath: '.perMonth',
          reason: 'FieldValueRequired',
        },
        {
          rule: "self.onExceeded != 'Stop' || self.action == 'Block'",
          message: 'write action: Block: a budget that only reports stops no machine',
          fieldPath: '.action',
        },
      ],
    }),
  );

export const spendBudgetStatus = z
  .object({
    observedGeneration: observedGeneration.optional(),
    conditions: conditions.optional(),
    month: text({
      description: 'The calendar month (UTC) of `spentThisMonth`.',
      example: '2026-11',
      maxLength: 7,
    }).optional(),
    spentThisMonth: dollars({
      description:
        'Spent in that month by all machines of the namespace, ended ones included. Rounded down to a hundredth of `perMonth`, or to a whole `perHour`, so that the status is not written each second.',
    }).optional(),
    pricePerHour: dollars({
      description: 'Hourly cost of all machines, including machines that are being rented or started.',
    }).optional(),
    leftThisMonth: dollars({
      description: '`perMonth` without `spentThisMonth`.',
    }).optional(),
    leftPerHour: dollars({ description: '`perHour` without `pricePerHour`.' }).optional(),
  })
  .meta(notes({ description: 'Observed state. Written by the operator only.', atomic: true }));

export type SpendBudgetSpec = z.output<typeof spendBudgetSpec>;
/** The spec as users write it: every field with a default is optional. */
export type SpendBudgetManifestSpec = z.input<typeof spendBudgetSpec>;
export type SpendBudgetStatus = z.output<typeof spendBudgetStatus>;
/** A limit on the spending of one namespace. */
export type SpendBudget = CustomObject<'SpendBudget', SpendBudgetSpec, SpendBudgetStatus>;
