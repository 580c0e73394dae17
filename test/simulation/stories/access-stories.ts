import type { Story } from './story.ts';

/** What authors of objects may reach by naming it, and must not. */
export const ACCESS_STORIES: readonly Story[] = [
  {
    name: 'an object names the API key of its account in env, and its user corrects that (M2)',
    seconds: 200,
    plot: (stage) => {
      stage.users.takeEnvFrom('a', 'marketplace-key', 'api-key');
      stage.at(60, () => stage.users.takeEnv('a'));
    },
  },
];
