import { describe, expect, test } from 'vitest';
import { parseSearchText } from './search-text.ts';

describe('the text grammar of offer search', () => {
  test.for([
    [
      'gpu_ram>=23 num_gpus=1 verified=True',
      { gpu_ram: { gte: 23_000 }, num_gpus: { eq: 1 }, verified: { eq: true } },
    ],
    ['gpu_name=RTX_4090', { gpu_name: { eq: 'RTX 4090' } }],
    ['gpu_name="RTX 4090"', { gpu_name: { eq: 'RTX 4090' } }],
    ['num_gpus>=1 num_gpus<8', { num_gpus: { gte: 1, lt: 8 } }],
    ['gpu_name in [RTX_3090,RTX_4090]', { gpu_name: { in: ['RTX 3090', 'RTX 4090'] } }],
    ['gpu_name not in [RTX_3090]', { gpu_name: { notin: ['RTX 3090'] } }],
    ['geolocation nin [CN,VN]', { geolocation: { notin: ['CN', 'VN'] } }],
    ['cluster_id=None', { cluster_id: { eq: null } }],
    ['duration>=2', { duration: { gte: 172_800 } }],
    ['dph<0.5 dph!=0.3', { dph_total: { lt: 0.5, neq: 0.3 } }],
    ['verified=True verified=any', {}],
    ['reliability gte 0.9', { reliability: { gte: 0.9 } }],
    ['', {}],
  ] as const)('%s', ([text, filters]) => {
    expect(parseSearchText(text)).toEqual(filters);
  });

  test('a term it cannot read is refused with that term', () => {
    expect(() => parseSearchText('num_gpus>=1 what?!')).toThrow(/cannot read "what/);
  });
});
