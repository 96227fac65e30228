/* How the search orders pages: the numbers are those of Sphinx; recipes come first. */
var Scorer = {
  score: (result) => {
    const [page, , , , score] = result;
    const first = ["docs/do/", "docs/launching", "docs/first-hour", "docs/recording", "docs/training"];
    return score + (first.some((name) => page.startsWith(name)) ? 20 : 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
