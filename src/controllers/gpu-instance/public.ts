/** What the command line may import of this controller. */
export { type Explained, explainInstance } from './explain.ts';
export type { OtherObjects } from './observe.ts';
export {
  type Choice,
  type ChoiceInput,
  chooseOffer,
  type Exclusions,
  hasPriceRule,
  helpFor,
  offerChecks,
  offerQuery,
  totalPrice,
  wouldMatchWithout,
} from './offers.ts';
export { failedSearch, type Reader } from './reads.ts';
export { readInputs } from './rental-inputs.ts';
export type { Stage } from './stage.ts';
export type { AccountFacts, Action, Decision, OffersView, Requeue } from './types.ts';
