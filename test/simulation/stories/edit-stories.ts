import { closePorts } from './acts.ts';
import { CHEAPEST_OFFER } from './market.ts';
import type { Story } from './story.ts';

const PRICE = { maxPricePerHour: '0.90' };

/** Edits of a spec: which of them replace the machine, and which do not. */
export const EDIT_STORIES: readonly Story[] = [
  {
    name: 'an object declares a port, and the cheapest offer has no direct ports (D-op1)',
    seconds: 200,
    plot: (stage) => {
      closePorts(stage, CHEAPEST_OFFER);
      stage.users.setPolicies('a', { ports: [{ containerPort: 8080, protocol: 'TCP' }] });
    },
  },
  {
    name: 'an object whose machine runs may have another GPU model as well, and then any of a further alternative (M4, F3)',
    seconds: 400,
    plot: (stage) => {
      stage.at(100, () =>
        stage.users.setPolicies('a', { offers: [{ gpuNames: ['RTX 4090', 'RTX 3090'], ...PRICE }] }),
      );
      const alternatives = [
        { gpuNames: ['H100 SXM'], ...PRICE },
        { gpuNames: ['RTX 3090', 'RTX 4090'], ...PRICE },
      ];
      stage.at(200, () => stage.users.setPolicies('a', { offers: alternatives }));
    },
  },
  {
    name: 'an object that replaces machines above its maximum price lists a cheaper GPU model before that of its machine (M4)',
    seconds: 300,
    plot: (stage) => {
      stage.users.setPolicies('a', { onPriceAbove: 'Replace' });
      const alternatives = [
        { gpuNames: ['GTX 1080'], maxPricePerHour: '0.05' },
        { gpuNames: ['RTX 4090'], ...PRICE },
      ];
      stage.at(100, () => stage.users.setPolicies('a', { offers: alternatives }));
      stage.at(200, () => stage.users.setPolicies('a', { offers: alternatives.toReversed() }));
    },
  },
  {
    name: 'an object is written in other words that mean the same (M4)',
    seconds: 400,
    plot: (stage) => {
      const [a, b] = [
        { name: 'A', value: '1' },
        { name: 'B', value: '2' },
      ];
      stage.users.setPolicies('a', { env: [a, b], ports: [{ containerPort: 8080, protocol: 'TCP' }] });
      stage.at(100, () => stage.users.setPolicies('a', { disk: '20000M' }));
      stage.at(150, () => stage.users.setPolicies('a', { env: [b, a] }));
      stage.at(200, () =>
        stage.users.setPolicies('a', { ports: [{ containerPort: 8080, protocol: 'TCP', name: 'http' }] }),
      );
    },
  },
];
