import * as z from 'zod';
import { FORMER_COLUMNS } from './former-columns.ts';
import { OFFER_FIELD_ROWS, type OFFER_FIELDS, type OfferFieldName } from './offer-fields.ts';
import { choice, flag, list, notes, text, whereWritten } from './schema.ts';

type Rows = typeof OFFER_FIELDS;
type Schemas = {
  -readonly [Name in OfferFieldName as Rows[Name] extends { readonly schema: z.ZodType }
    ? Name
    : never]: Rows[Name] extends { readonly schema: infer Schema } ? Schema : never;
};
const FIELD_SCHEMAS = Object.fromEntries(
  OFFER_FIELD_ROWS.flatMap(([name, { schema }]) => (schema ? [[name, schema]] : [])),
) as Schemas;

function formerColumns(fact: string): readonly string[] {
  return [...FORMER_COLUMNS].flatMap(([column, own]) => (own === fact ? [column] : []));
}

/** Places of the fields that `filters` may not name. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    OFFER_FIELD_ROWS.flatMap(([name, { fact, place = name }]) =>
      place === null ? [] : [fact, ...formerColumns(fact)].map((own) => [own, place]),
    ),
  ),
  order: 'order',
};
const OWN_FIELDS_IN_CEL = `{${Object.entries(OWN_FIELDS)
  .map(([name, place]) => `'${name}': '${place}'`)
  .join(', ')}}`;

/** Facts that can order offers: numbers that differ between offers that satisfy an alternative. */
const SORTED = OFFER_FIELD_ROWS.flatMap(([, { type, fact }]) => (type === 'number' ? [fact] : []));

const filterField = (own: boolean) =>
  text({
    description: own
      ? `${SORTED.map((fact) => `\`${fact}\``).join(', ')}, or a field of an offer by the marketplace's name.`
      : "A field of an offer, by the marketplace's name.",
    example: 'cuda_max_good',
    maxLength: 64,
    pattern: '^[a-zA-Z][a-zA-Z0-9_]*$',
    write: 'write the name of an offer field: letters, digits and "_"',
    rules: own
      ? []
      : [
          {
            rule: `!(self in ${OWN_FIELDS_IN_CEL})`,
            message: 'this field has its own place: use it instead of a filter',
            messageExpression: `self + ' has its own place: write ' + ${OWN_FIELDS_IN_CEL}[self] + ' instead of a filter'`,
            reason: 'FieldValueForbidden',
          },
          {
            rule: "!(self in ['rentable', 'rented', 'limit', 'id'])",
            message: 'leave it out: the operator sets rentable, rented, limit and id itself',
            reason: 'FieldValueForbidden',
          },
        ],
  });

const offerFilter = z
  .object({
    field: filterField(false),
    operator: choice(['Eq', 'Neq', 'Gt', 'Gte', 'Lt', 'Lte', 'In', 'NotIn'], {
      description: 'Comparison of the values.',
    }),
    value: text({
      description: 'A number, true, false or a word, in quotes. Required unless the operator is In or NotIn.',
      example: '"12.4"',
      maxLength: 256,
    }).optional(),
    values: list(text({ description: 'One value.', maxLength: 256 }), {
      description: 'The values for In and NotIn.',
      example: '[amd64, arm64]',
      max: 64,
      list: { type: 'atomic' },
    }).optional(),
  })
  .meta(
    notes({
      description: 'One more requirement.',
      rules: [
        {
          rule: "self.operator in ['In', 'NotIn'] ? (has(self.values) && size(self.values) > 0 && !has(self.value)) : (has(self.value) && !has(self.values))",
          message: 'write values (a list) with In and NotIn, and value with every other operator',
        },
      ],
    }),
  );

const orderKey = z
  .object({
    field: filterField(true),
    direction: choice(['Asc', 'Desc'], {
      description: 'Direction: the smallest or the largest first.',
    }).default('Asc'),
  })
  .meta(notes({ description: 'One sort key.' }));

/** An alternative of the rental. */
export const offerRequirements = z
  .object({
    ...FIELD_SCHEMAS,
    allowUnknownPrice: flag({
      description:
        "Rent although the marketplace names no price for the offer. Otherwise such an offer is refused. Every limit counts such a machine at the highest price it may cost: the lower of this `maxPricePerHour` and that of the account, else all of the account's `maxSpendPerHour`. An account with `limits.maxPricePerHour` refuses it unless the account sets `limits.allowUnknownPrice`.",
    }).default(false),
    filters: list(offerFilter, {
      description: 'Requirements on any other field of an offer.',
      example: '[{field: inet_down, operator: Gt, value: "500"}]',
      max: 32,
      list: { type: 'atomic' },
    }).optional(),
    order: list(orderKey, {
      description: 'Order of offers; the offer id breaks ties.',
      max: 8,
      list: { type: 'atomic' },
    }).default([{ field: 'pricePerHour', direction: 'Asc' }]),
  })
  .meta(
    notes({
      description: 'An alternative of the rental.',
      rules: [
        {
          rule: "self.pricing != 'Interruptible' || has(self.bid)",
          message: 'an Interruptible rental needs a bid: write the dollars per hour, such as "0.25"',
          fieldPath: '.bid',
          reason: 'FieldValueRequired',
        },
        {
          rule: "self.pricing == 'Interruptible' || !has(self.bid)",
          message: 'a bid belongs to pricing: Interruptible: write that, or leave bid out',
          fieldPath: '.bid',
          reason: 'FieldValueForbidden',
        },
        {
          rule: `!has(self.bid) || ${whereWritten('dollars', ['self.bid'], 'double(self.bid) >= 0.001')}`,
          message: 'write a bid of at least "0.001": the marketplace accepts no lower one',
          fieldPath: '.bid',
        },
        {
          rule: `!has(self.bid) || !has(self.maxPricePerHour) || ${whereWritten('dollars', ['self.bid', 'self.maxPricePerHour'], 'double(self.bid) <= double(self.maxPricePerHour)')}`,
          message: 'write a bid that is not above maxPricePerHour',
          messageExpression:
            "'bid ' + self.bid + ' is above maxPricePerHour ' + self.maxPricePerHour + ': lower the bid or raise the maximum'",
          fieldPath: '.bid',
        },
      ],
    }),
  );

export type OfferRequirements = z.output<typeof offerRequirements>;
export type OfferFilter = z.output<typeof offerFilter>;
