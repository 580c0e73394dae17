import type { Story } from './story.ts';

/** Rent calls that were refused, by the words of the answer, and were carried out all the same. */
export const REFUSAL_STORIES: readonly Story[] = [
  {
    name: 'a server fails at a rent call and has carried it out, and lists lag behind the new machine',
    seconds: 200,
    plot: (stage) => {
      stage.cause({ name: '5xx-with-effect', endpoint: 'rent', count: 1 });
      stage.cause({ name: 'lagging-list', seconds: 40 });
    },
  },
];
