import { type ReasonEntry, reasons } from '../../api/v1alpha1/reasons.ts';
import { dollarText } from '../output/amounts.ts';
import { formatTable } from '../output/table.ts';
import type { Candidate } from './candidates.ts';
import type { Plan } from './plan-object.ts';

/** A plan for people. */
export function planText({
  object,
  alternative,
  rents,
  perDay,
  candidates,
  reason,
  detail,
  without,
  note,
}: Plan): string {
  const head = rents
    ? `${object} would rent offer ${rents.offer}: ${rents.count ?? ''} × ${rents.gpu ?? 'GPU'}, ${rents.region ?? 'somewhere'}, ` +
      `${dollarText(rents.pricePerHour) ?? 'unknown price'}/h, ${dollarText(perDay) ?? 'unknown'}/day (alternative ${(alternative ?? 0) + 1} of spec.offers)`
    : `${object} would rent nothing: ${reason ? inWords(reason, detail) : 'no reason is known.'}`;
  const softer = without.slice(0, 6).map(({ name, count }) => `  ${count} offers without ${name}\n`);
  const table = formatTable<Candidate>(
    [
      { header: 'Offer', text: ({ offer }) => offer },
      { header: 'GPU', text: ({ gpu }) => gpu },
      { header: 'Count', text: ({ count }) => (count === undefined ? undefined : String(count)) },
      { header: '$/h', text: ({ pricePerHour }) => dollarText(pricePerHour) },
      { header: 'Region', text: ({ region }) => region },
      { header: 'Result', text: ({ verdict, why }) => (verdict === 'rented' ? 'rented' : `lost: ${why}`) },
    ],
    candidates,
  );
  const rows = candidates.length === 0 ? '' : `\n${table}`;
  return `${head}\n(${note})\n${softer.join('')}${rows}`;
}

function inWords(reason: NonNullable<Plan['reason']>, detail: string | undefined): string {
  const { sentence, remedy }: ReasonEntry = reasons[reason];
  const isOwn = reason === 'Adopted' || reason === 'Stopped' || reason === 'Paused';
  const words = isOwn ? [detail] : [detail ?? sentence, remedy];
  return `${words.filter(Boolean).join(' ')} (${reason})`;
}
