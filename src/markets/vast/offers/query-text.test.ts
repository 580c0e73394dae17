import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatQueryText } from '../../../../test/builders/query-text.ts';
import type { OfferFilter } from '../../../market/offer.ts';
import { findOfferField } from './offer-fields.ts';
import { parseOrderText, parseQueryText, USUAL_DEFAULTS, withDefaults } from './query-text.ts';

function filtersOf(text: string): readonly OfferFilter[] {
  const parsed = parseQueryText(text);
  if (parsed.type === 'invalid') throw new Error(parsed.message);
  return parsed.filters;
}

describe('a query text', () => {
  const understood: readonly [string, OfferFilter[]][] = [
    ['', []],
    [
      'num_gpus>=2 gpu_name=RTX_4090',
      [
        { field: 'num_gpus', operator: 'gte', value: 2 },
        { field: 'gpu_name', operator: 'eq', value: 'RTX 4090' },
      ],
    ],
    ['num_gpus == 2', [{ field: 'num_gpus', operator: 'eq', value: 2 }]],
    ['num_gpus eq 2', [{ field: 'num_gpus', operator: 'eq', value: 2 }]],
    ['num_gpus not eq 2', [{ field: 'num_gpus', operator: 'neq', value: 2 }]],
    ['num_gpus noteq 2', [{ field: 'num_gpus', operator: 'neq', value: 2 }]],
    ['num_gpus!=2', [{ field: 'num_gpus', operator: 'neq', value: 2 }]],
    ['num_gpus lte 2', [{ field: 'num_gpus', operator: 'lte', value: 2 }]],
    ['gpu_ram>=48', [{ field: 'gpu_ram', operator: 'gte', value: 48_000 }]],
    ['cpu_ram < 64.5', [{ field: 'cpu_ram', operator: 'lt', value: 64_500 }]],
    ['duration>3', [{ field: 'duration', operator: 'gt', value: 259_200 }]],
    ['driver_version>=535.86.05', [{ field: 'driver_version', operator: 'gte', value: 535_086_005 }]],
    ['driver_version=535.86', [{ field: 'driver_version', operator: 'eq', value: '535.86' }]],
    ['dph<0.5', [{ field: 'dph_total', operator: 'lt', value: 0.5 }]],
    ['cuda_vers>=12.1', [{ field: 'cuda_max_good', operator: 'gte', value: 12.1 }]],
    [
      'verified=True external = false',
      [
        { field: 'verified', operator: 'eq', value: true },
        { field: 'external', operator: 'eq', value: false },
      ],
    ],
    ['cluster_id=None', [{ field: 'cluster_id', operator: 'eq', value: null }]],
    [
      'gpu_name in [RTX_4090, "H100 SXM"]',
      [{ field: 'gpu_name', operator: 'in', value: ['RTX 4090', 'H100 SXM'] }],
    ],
    ['geolocation not in [US,CA]', [{ field: 'geolocation', operator: 'notin', value: ['US', 'CA'] }]],
    ['geolocation nin [US]', [{ field: 'geolocation', operator: 'notin', value: ['US'] }]],
    ['gpu_name="RTX 4090"', [{ field: 'gpu_name', operator: 'eq', value: 'RTX 4090' }]],
    ["gpu_name='RTX 4090'", [{ field: 'gpu_name', operator: 'eq', value: 'RTX 4090' }]],
    ['gpu_name=""', [{ field: 'gpu_name', operator: 'eq', value: '' }]],
    ['num_gpus not   in [1, ,2,]', [{ field: 'num_gpus', operator: 'notin', value: [1, 2] }]],
    [`gpu_name in [a'b', 'c'd]`, [{ field: 'gpu_name', operator: 'in', value: ["a'b'", "'c'd"] }]],
    ['cluster_id=null', [{ field: 'cluster_id', operator: 'eq', value: null }]],
    ['driver_version=v535.86.05', [{ field: 'driver_version', operator: 'eq', value: 'v535.86.05' }]],
    ['driver_version=535.86.051x', [{ field: 'driver_version', operator: 'eq', value: '535.86.051x' }]],
  ];
  test.each(understood)('%s', (text, filters) => {
    expect(filtersOf(text)).toEqual(filters);
  });

  test.each([
    ['5', 5],
    ['+5', 5],
    ['-5', -5],
    ['0.25', 0.25],
    ['.25', 0.25],
    ['5.', 5],
    ['1e3', 1000],
    ['1E+3', 1000],
    ['25e-2', 0.25],
    ['1e10', 1e10],
    ['5GB', undefined],
    ['~5', undefined],
    ['e3', undefined],
    ['1e', undefined],
    ['1e300', undefined],
    ['.', undefined],
    ['1.2.3', undefined],
    ['Infinity', undefined],
    ['0x10', undefined],
  ])('the number %s is %s', (written, value) => {
    const parsed = parseQueryText(`num_gpus=${written}`);
    expect(parsed.type === 'parsed' ? parsed.filters[0]?.value : undefined).toBe(value);
  });

  const refused: readonly [string, number, RegExp][] = [
    ['num_gpu>=2', 0, /"num_gpu" is no field of an offer: did you mean "num_gpus"\?/],
    ['num_gpus>=1 gpu_nmae=X', 12, /did you mean "gpu_name"\?/],
    ['zzzzzzzzzz=1', 0, /docs\/reference\/offer-fields\.md lists them/],
    ['num_gpus', 8, /an operator is expected after "num_gpus"/],
    ['num_gpus>=', 10, /a value is expected/],
    ['num_gpus>=two', 0, /"two" is no number for "num_gpus": write a number, e.g. num_gpus>=2/],
    ['verified=maybe', 0, /write verified=true or verified=false/],
    ['gpu_name in RTX', 0, /needs a list here: write gpu_name in \[a,b\]/],
    ['gpu_name=[RTX]', 0, /takes one value here/],
    ['>=2', 0, /a field name is expected/],
    ['dph<1 %%%%%%%%%%%%%%%%%%%%%%%%%', 6, /a field name is expected at "%{20}"$/],
    ['dph<1 num_gpus >= ', 18, /a value is expected after "num_gpus >="$/],
    ['gpu_name=[RTX]', 0, /write gpu_name=a$/],
  ];
  test.each(refused)('%s is refused with place and remedy', (text, at, message) => {
    expect(parseQueryText(text)).toMatchObject({
      type: 'invalid',
      at,
      message: expect.stringMatching(message),
    });
  });

  test('takes defaults away, and replaces them operator by operator', () => {
    const parsed = parseQueryText('verified=any rentable=false num_gpus>=1');
    if (parsed.type === 'invalid') throw new Error(parsed.message);
    expect(withDefaults(parsed, USUAL_DEFAULTS)).toEqual([
      { field: 'external', operator: 'eq', value: false },
      { field: 'rentable', operator: 'eq', value: false },
      { field: 'num_gpus', operator: 'gte', value: 1 },
      { field: 'verified', operator: 'eq', value: 'any' },
    ]);
  });

  test('B20: sends "any" where the service has a default of its own', () => {
    const parsed = parseQueryText('rentable=any external=any gpu_name=any');
    if (parsed.type === 'invalid') throw new Error(parsed.message);
    expect(withDefaults(parsed, USUAL_DEFAULTS)).toEqual([
      { field: 'verified', operator: 'eq', value: true },
      { field: 'rentable', operator: 'eq', value: 'any' },
    ]);
  });

  test.each([
    ['reliability>=x', 'reliability>=0.95'],
    ['reliability>=2', 'reliability is a share from 0 to 1: write 0.02 in place of 2'],
    ['reliability>=95', 'write 0.95 in place of 95'],
    ['reliability>=200', 'write 0.95 in place of 200'],
    ['has_avx=x', 'has_avx=1'],
    ['has_avx=2', 'has_avx is 0 or 1: write 1 in place of 2'],
    ['compute_cap>=x', 'compute_cap>=890'],
    ['compute_cap>=8.9', 'write 890 in place of 8.9'],
    ['dph<x', 'dph<=0.5'],
    ['gpu_ram>=x', 'gpu_ram>=24'],
    ['num_gpus>=x', 'num_gpus>=2'],
    ['rentable=x', 'rentable=true or rentable=false'],
  ])('B19, B25: %s is refused with a value that offers have', (text, says) => {
    const parsed = parseQueryText(text);
    expect(parsed.type === 'invalid' && parsed.message).toContain(says);
  });

  test('B22: knows the codes that people write for countries', () => {
    expect(filtersOf('geolocation in [UK,DE]')).toEqual([
      { field: 'geolocation', operator: 'in', value: ['GB', 'DE'] },
    ]);
  });

  test('parses again from its own form', () => {
    const text =
      'gpu_ram>=23 num_gpus=1 verified=true gpu_name in [RTX_4090,H100_SXM] driver_version>=535.86.05 cluster_id=None';
    expect(formatQueryText(filtersOf(text))).toBe(text);
  });

  test('never throws and never hangs, whatever it is given', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[a-z_ =<>![\],"'*?0-9]{0,60}$/)), (text) => {
        expect(['parsed', 'invalid']).toContain(parseQueryText(text).type);
      }),
    );
  });
});

test('sort keys take aliases and a trailing minus', () => {
  expect(parseOrderText('dph, score-')).toEqual({
    type: 'parsed',
    order: [
      { field: 'dph_total', direction: 'asc' },
      { field: 'score', direction: 'desc' },
    ],
  });
  expect(parseOrderText('dph,scroe-')).toMatchObject({ type: 'invalid', at: 4 });
});

test('a field is found by name and alias, and a near miss by its nearest name', () => {
  expect(findOfferField('reliability2')).toMatchObject({ type: 'known', field: { name: 'reliability' } });
  expect(findOfferField('GPU_name')).toEqual({ type: 'unknown', nearest: 'gpu_name' });
  expect(findOfferField('')).toMatchObject({ type: 'unknown' });
});
