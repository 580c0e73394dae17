import { pausingCommand } from '../objects/pausing.ts';

/** Ends a pause. */
export const resumeCommand = pausingCommand({
  name: 'resume',
  paused: false,
  summary: 'End a pause: rent and replace again.',
  description: 'The operator goes on from what is there now.',
});
