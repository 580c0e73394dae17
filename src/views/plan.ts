import * as z from 'zod';
import { dollarText, hourlyText } from './amounts.ts';
import { groupEffectSchema, groupEffectText } from './group-effect.ts';
import { effectText, machineEffectSchema } from './machine-effect.ts';
import { entryOf } from './next-steps.ts';
import { formatTable } from './table.ts';

const candidateSchema = z.strictObject({
  offer: z.string().describe('Id of the offer.'),
  gpu: z.string().optional(),
  count: z.number().optional(),
  region: z.string().optional(),
  pricePerHour: z.number().optional().describe('Dollars.'),
  verdict: z.enum(['rented', 'lost']),
  why: z.string(),
});

/** An offer and its outcome. */
export type Candidate = z.infer<typeof candidateSchema>;

const effects = {
  machine: machineEffectSchema.optional().describe('Effect on the machine of an existing GpuInstance.'),
  group: groupEffectSchema.optional().describe('Effect on the workers of an existing EndpointGroup.'),
};

/** Effects of a manifest on machines that exist. */
export type Effects = Readonly<z.infer<z.ZodObject<typeof effects>>>;

const planSchema = z.strictObject({
  object: z.string().describe('`gpui/NAME` or `epg/NAME`.'),
  ...effects,
  alternative: z.number().optional().describe('Index in `spec.offers`.'),
  rents: candidateSchema.optional(),
  perDay: z.number().optional().describe('Dollars.'),
  candidates: z.array(candidateSchema).readonly().describe('The nearest first.'),
  reason: z.string().optional().describe('Reason for renting nothing: a [reason](reasons.md).'),
  detail: z.string().optional().describe('The reason with its figures or fields.'),
  without: z
    .array(z.strictObject({ name: z.string(), count: z.number() }))
    .readonly()
    .describe('Requirements, and the number of offers that match if one is dropped.'),
  note: z.string().describe('Assumptions, and checks that were impossible.'),
  start: z.string().optional().describe('Set if nothing would run in the container.'),
  selfEnd: z
    .string()
    .optional()
    .describe(
      'How the machine ends itself at `maxLifetime` without the operator; set if it is to be rented.',
    ),
});

export const plansSchema = z.array(planSchema).readonly();

/** Outcome of a manifest. */
export type Plan = Readonly<z.infer<typeof planSchema>>;

/**
 * Returns
 * `gpui/trainer replaces machine 20000006 (up 17m, $0.09, 32 GB disk lost) once another machine can be rented: …`;
 * undefined if the object does not exist yet.
 */
export function effectsText(object: string, { machine, group }: Effects): string | undefined {
  if (machine) return `${object} ${effectText(machine)}`;
  return group && `${object} ${groupEffectText(group)}`;
}

/** Returns true if the object would have its machine: a new one, or the present one. */
export function isMet({ rents, machine }: Plan): boolean {
  return rents !== undefined || staysBy(machine);
}

/** Returns true if the object keeps its machine, so nothing is rented. */
function staysBy(machine: Plan['machine']): boolean {
  return machine !== undefined && machine.effect !== 'replaces' && machine.effect !== 'blocked';
}

/** Maximum number of hints: more would hide the most helpful ones. */
const MAX_WITHOUT = 6;

/** Returns a plan as text; its table fits `width` characters. */
export function planText(plan: Plan, width?: number): string {
  const {
    object,
    machine,
    alternative,
    rents,
    perDay,
    candidates,
    reason,
    detail,
    without,
    note,
    start,
    selfEnd,
  } = plan;
  const head = rents
    ? `${object} would rent offer ${rents.offer}: ${rents.count ?? ''} × ${rents.gpu ?? 'GPU'}, ${rents.region ?? 'somewhere'}, ` +
      `${hourlyText(rents.pricePerHour) ?? 'unknown price'}/h, ${dollarText(perDay) ?? 'unknown'}/day (alternative ${(alternative ?? 0) + 1} of spec.offers)`
    : `${object} would rent nothing: ${reason ? inWords(reason, detail) : 'no reason is known.'}`;
  const softer = without
    .slice(0, MAX_WITHOUT)
    .filter(({ name }) => !detail?.includes(`without ${name}`))
    .map(({ name, count }) => `  ${count} offers without ${name}\n`);
  const table = formatTable<Candidate>(
    [
      { header: 'Offer', text: ({ offer }) => offer },
      { header: 'GPU', text: ({ gpu }) => gpu },
      { header: 'Count', text: ({ count }) => (count === undefined ? undefined : String(count)) },
      { header: '$/h', text: ({ pricePerHour }) => hourlyText(pricePerHour) },
      { header: 'Region', text: ({ region }) => region },
      { header: 'Result', text: ({ verdict, why }) => (verdict === 'rented' ? 'rented' : `lost: ${why}`) },
    ],
    candidates,
    { width },
  );
  const rows = candidates.length === 0 ? '' : `\n${table}`;
  const effect = effectsText(object, plan);
  if (staysBy(machine)) return `${effect}\n(${note})\n`;
  const hints = rents ? [start, selfEnd].flatMap((hint) => (hint === undefined ? [] : [`${hint}\n`])) : [];
  return `${effect === undefined ? '' : `${effect}\n`}${head}\n(${note})\n${hints.join('')}${softer.join('')}${rows}`;
}

function inWords(reason: string, detail: string | undefined): string {
  const { sentence, remedy } = entryOf(reason) ?? {};
  // The operator's own message ends in the remedy.
  const isWhole = remedy !== undefined && detail?.includes(remedy);
  const words = isWhole ? [detail] : [detail ?? sentence, remedy];
  return `${words.filter(Boolean).join(' ')} (${reason})`;
}
