import type * as z from 'zod';
import { costSchema } from './cost.ts';
import { costBySchema } from './cost-by.ts';
import { groupExplanationSchema, instanceExplanationSchema } from './explanation.ts';
import { groupSnapshotSchema } from './group-figures.ts';
import { instanceSnapshotSchema } from './instance-figures.ts';
import { plansSchema } from './plan.ts';
import { replaySummarySchema, ticksSchema } from './replay.ts';
import { reportSchema } from './report.ts';

/** A command whose JSON and YAML have a schema. */
export interface JsonOutput {
  /** The command in the form in which a person types it. */
  readonly command: string;
  readonly summary: string;
  readonly schema: z.ZodType;
}

/** The commands of the operator with stable JSON. */
export const JSON_OUTPUTS = {
  status: {
    command: 'gpu-rent status KIND/NAME -o json',
    summary: 'The report on one object.',
    schema: reportSchema,
  },
  topGroups: {
    command: 'gpu-rent top [epg/NAME...] -o json',
    summary: 'One value, or a line for each poll without `--once`.',
    schema: groupSnapshotSchema,
  },
  topInstances: {
    command: 'gpu-rent top gpui[/NAME...] -o json',
    summary: 'The same of GpuInstances.',
    schema: instanceSnapshotSchema,
  },
  cost: {
    command: 'gpu-rent cost [KIND/NAME...] -o json',
    summary: 'A list, the most expensive first, without a sum.',
    schema: costSchema,
  },
  costBy: {
    command: 'gpu-rent cost --since TIME --by WHAT -o json',
    summary: 'A list, the highest cost first, without a sum.',
    schema: costBySchema,
  },
  plan: {
    command: 'gpu-rent plan -f FILE -o json',
    summary: 'A list in the order of the files.',
    schema: plansSchema,
  },
  simulateTicks: {
    command: 'gpu-rent simulate epg -o json',
    summary: 'The first of two lines: a list of ticks.',
    schema: ticksSchema,
  },
  simulateSummary: {
    command: 'gpu-rent simulate epg -o json, last line',
    summary: 'The figures of the whole replay.',
    schema: replaySummarySchema,
  },
  explainInstance: {
    command: 'gpu-rent explain gpui/NAME -o json',
    summary: 'One of two forms, by `source`.',
    schema: instanceExplanationSchema,
  },
  explainGroup: {
    command: 'gpu-rent explain epg/NAME -o json',
    summary: 'The terms of the last scaling decision.',
    schema: groupExplanationSchema,
  },
} as const satisfies Readonly<Record<string, JsonOutput>>;
