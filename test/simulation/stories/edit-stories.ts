import { closePorts, leaveOneOffer, raisePrices, repriceMachine } from './acts.ts';
import { CHEAPEST_OFFER } from './market.ts';
import type { Stage } from './stage.ts';
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
  {
    name: 'an object is edited to a disk that no host has, and then back: its machine stays (P1)',
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => {
        keepMachines(stage, 300);
        stage.users.setPolicies('a', { disk: '90T' });
      });
      stage.at(300, () => stage.users.setPolicies('a', { disk: '20G' }));
    },
  },
  {
    name: 'an account allows no machine any more, and then an object gets another image: its machine stays (P1)',
    seconds: 600,
    plot: (stage) => {
      stage.at(100, () => {
        keepMachines(stage, 200);
        stage.users.account.set({ limits: { maxInstances: 0 } });
        stage.users.setPolicies('a', { image: 'example/work:2' });
      });
      stage.at(300, () => stage.users.account.set({ limits: { maxInstances: 1 } }));
    },
  },
  {
    name: 'an object gets an image whose pull Secret comes later: its machine stays until then (P1)',
    seconds: 700,
    plot: (stage) => {
      stage.at(100, () => {
        keepMachines(stage, 200);
        stage.users.setPolicies('a', { image: 'example/work:2', imagePullSecretRef: { name: 'pull' } });
      });
      stage.at(300, () => stage.users.setPolicies('a', { imagePullSecretRef: null }));
    },
  },
  {
    name: 'one search reply says that offers cost a hundredth when an object gets another image and a maximum that no offer keeps: its machine stays',
    seconds: 500,
    plot: (stage) => {
      stage.at(100, () => {
        keepMachines(stage, 300);
        stage.wrong({ endpoint: 'search', field: 'dph_total', change: 'times', value: 0.01 });
        const offers = [{ gpuNames: ['RTX 4090'], maxPricePerHour: '0.01', allowUnknownPrice: true }];
        stage.users.setPolicies('a', { image: 'example/work:2', offers });
      });
      stage.at(400, () => stage.users.setPolicies('a', { offers: [{ gpuNames: ['RTX 4090'], ...PRICE }] }));
    },
  },
  {
    name: 'the price of a machine rises, and no other is cheaper: it stays although onPriceAbove is Replace (P1)',
    seconds: 400,
    plot: (stage) => {
      stage.users.setPolicies('a', { onPriceAbove: 'Replace' });
      stage.at(100, () => {
        keepMachines(stage, 300);
        raisePrices(stage, 800_000);
        repriceMachine(stage, 'a', 700_000);
      });
    },
  },
  {
    name: 'two objects get another image in one moment, and one offer is left: one machine goes for it (P1)',
    fleet: 2,
    seconds: 500,
    mayLeave: true,
    plot: (stage) => {
      stage.at(100, () => {
        leaveOneOffer(stage, CHEAPEST_OFFER + 2);
        stage.allow({ call: 'destroy', seconds: 200, max: 1, invariant: 'I4' });
        for (const name of ['a', 'm-2']) stage.users.setPolicies(name, { image: 'example/work:2' });
      });
    },
  },
  {
    name: 'the prices of ten machines rise in one moment, and their objects replace such machines (A2)',
    fleet: 10,
    seconds: 400,
    mayLeave: true,
    plot: (stage) => {
      const names = ['a', ...Array.from({ length: 9 }, (_, index) => `m-${index + 2}`)];
      for (const name of names) stage.users.setPolicies(name, { onPriceAbove: 'Replace' });
      stage.at(150, () => {
        keepMachines(stage, 200);
        for (const name of names) repriceMachine(stage, name, 700_000);
      });
    },
  },
  {
    name: 'an operator dies after it recorded a replacement, and no offer matches afterwards: the machine serves on (P1)',
    seconds: 500,
    plot: (stage) => {
      stage.strike({
        call: 'destroy',
        meanwhile: () => {
          raisePrices(stage, 5_000_000);
          keepMachines(stage, 190);
          stage.killAll();
        },
        fate: { loseRequest: true },
      });
      stage.at(100, () => stage.users.setPolicies('a', { image: 'example/work:2' }));
      stage.at(300, () => raisePrices(stage, 300_000));
    },
  },
];

/** Forbids destroy calls in that time: no replacement can be rented. */
function keepMachines(stage: Stage, seconds: number): void {
  stage.forbid({ call: 'destroy', seconds, why: 'no other machine can be rented' });
}
