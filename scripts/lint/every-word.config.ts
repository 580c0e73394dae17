/** The rule of `vocabulary.ts` alone, without what folders still use: counts for `words-left.ts`. */
import { defineConfig } from 'oxlint';

export default defineConfig({
  jsPlugins: ['./vocabulary.ts'],
  plugins: [],
  categories: { correctness: 'off' },
  rules: { 'vocabulary/words': 'error' },
});
