/**
 * A formula in a line, between single dollars, as many models write it. It has a mark of LaTeX, or
 * begins with the name of one letter: no prices, no `$HOME/$USER`.
 */
export const DOLLARS = /\B\$(?=[^$]*[\\^_=]|[a-z]\b)(?! )[^$]+\$\B/;
