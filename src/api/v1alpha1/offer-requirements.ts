import * as z from 'zod';
import { choice, dollars, flag, integer, list, notes, percentage, text, whereWritten } from './schema.ts';

/** Fields of an offer that have a field of their own here; the rest goes into `filters`. */
const OWN_FIELDS: Readonly<Record<string, string>> = {
  gpu_name: 'gpuNames',
  num_gpus: 'gpuCount',
  gpu_ram: 'minGpuMemory',
  direct_port_count: 'minDirectPorts',
  reliability: 'minReliability',
  reliability2: 'minReliability',
  geolocation: 'regions',
  verified: 'verified',
  type: 'pricing',
  order: 'order',
  dph_total: 'maxPricePerHour',
  min_bid: 'bid',
  allocated_storage: 'spec.disk',
  disk_space: 'spec.disk',
};
const OWN_FIELDS_IN_CEL = `{${Object.entries(OWN_FIELDS)
  .map(([wire, ours]) => `'${wire}': '${ours}'`)
  .join(', ')}}`;

const filterField = (own: boolean) =>
  text({
    description: "A field of an offer, by the marketplace's name.",
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
      description: 'How it is compared.',
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
      description: 'Which comes first: the smallest or the largest.',
    }).default('Asc'),
  })
  .meta(notes({ description: 'One sort key.' }));

const minGpuMemory = text({
  description: 'The least memory of one GPU. The marketplace counts decimal GB: 24G is 24,000 MB.',
  example: '24G',
  form: 'quantity',
  maxLength: 16,
  rules: [
    {
      rule: "!self.matches('^[0-9]+([.][0-9]+)?[MGT]i$')",
      message: 'write 24G: the marketplace counts GPU memory in decimal GB',
      messageExpression:
        "'write ' + self.substring(0, size(self) - 1) + ': the marketplace counts GPU memory in decimal GB'",
    },
    {
      rule: "self.matches('^[0-9]{1,7}([.][0-9]{1,3})?[MGT]i?$')",
      message: 'write the memory of one GPU with its unit, such as 24G or 24000M',
    },
  ],
});

/** One alternative of what may be rented. */
export const offerRequirements = z
  .object({
    gpuNames: list(text({ description: "A GPU model by the marketplace's name.", maxLength: 64 }), {
      description: "GPU models that will do, by the marketplace's names. Any when left out.",
      example: '[RTX 4090, RTX 3090]',
      max: 32,
      list: { type: 'set' },
    }).optional(),
    gpuCount: integer({ description: 'GPUs of the machine.', min: 1, max: 64 }).default(1),
    minGpuMemory: minGpuMemory.optional(),
    minDirectPorts: integer({
      description: 'The least directly reachable ports.',
      example: '4',
      min: 0,
      max: 65535,
    }).optional(),
    minReliability: percentage({
      description: "The least reliability of the host in the marketplace's own measure.",
    }).optional(),
    regions: list(
      text({
        description: 'A country.',
        // Room for a name, so that the rule answers and not the length.
        maxLength: 32,
        pattern: '^[A-Z]{2}$',
        write: 'write the two-letter code of a country in capitals, such as US',
      }),
      {
        description:
          'Countries that will do, as two-letter codes in quotes (YAML takes a bare NO for false). Any when left out.',
        example: '["SE", "NO", "FI"]',
        max: 64,
        list: { type: 'set' },
      },
    ).optional(),
    verified: flag({ description: 'Only hosts whose identity the marketplace has checked.' }).default(true),
    pricing: choice(['OnDemand', 'Interruptible'], {
      description: 'OnDemand: at a fixed price. Interruptible: at your bid; a higher bid stops the machine.',
    }).default('OnDemand'),
    bid: dollars({
      description: 'What you bid for an hour of the machine. Only with `pricing: Interruptible`.',
      example: '"0.25"',
    }).optional(),
    maxPricePerHour: dollars({
      description:
        'The most that the machine may cost in an hour, disk included. Required unless the account sets one.',
    }).optional(),
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
      description: 'Which offer is taken first; the offer id breaks ties.',
      max: 8,
      list: { type: 'atomic' },
    }).default([{ field: 'dph_total', direction: 'Asc' }]),
  })
  .meta(
    notes({
      description: 'One alternative of what may be rented.',
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
          message: 'write a bid of at least "0.001": the marketplace takes no lower one',
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
