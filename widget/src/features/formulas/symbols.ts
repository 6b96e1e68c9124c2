/** The commands of LaTeX that are one character or one word. */

/** `name=character` pairs, with spaces between them. */
function table(pairs: string): ReadonlyMap<string, string> {
  return new Map(pairs.split(" ").map((pair) => pair.split("=") as [string, string]));
}

/** Letters: they stand in italics where LaTeX has them so. */
export const LETTERS = table(
  "alpha=α beta=β gamma=γ delta=δ epsilon=ϵ varepsilon=ε zeta=ζ eta=η theta=θ vartheta=ϑ iota=ι kappa=κ " +
    "lambda=λ mu=μ nu=ν xi=ξ pi=π rho=ρ sigma=σ tau=τ upsilon=υ phi=ϕ varphi=φ chi=χ psi=ψ omega=ω " +
    "Gamma=Γ Delta=Δ Theta=Θ Lambda=Λ Xi=Ξ Pi=Π Sigma=Σ Phi=Φ Psi=Ψ Omega=Ω " +
    "infty=∞ partial=∂ nabla=∇ hbar=ℏ ell=ℓ emptyset=∅ varnothing=∅ Re=ℜ Im=ℑ aleph=ℵ degree=° prime=′ " +
    "%=% $=$ #=# _=_ &=& ldots=… dots=… cdots=⋯ vdots=⋮ ddots=⋱ top=⊤ bot=⊥",
);

export const OPERATORS = table(
  "times=× cdot=⋅ div=÷ pm=± mp=∓ ast=∗ star=⋆ circ=∘ bullet=∙ oplus=⊕ otimes=⊗ cup=∪ cap=∩ setminus=∖ " +
    "leq=≤ le=≤ geq=≥ ge=≥ neq=≠ ne=≠ approx=≈ equiv=≡ sim=∼ simeq=≃ cong=≅ propto=∝ ll=≪ gg=≫ lt=< gt=> " +
    "in=∈ notin=∉ ni=∋ subset=⊂ subseteq=⊆ supset=⊃ supseteq=⊇ mid=∣ parallel=∥ perp=⊥ " +
    "to=→ rightarrow=→ leftarrow=← leftrightarrow=↔ Rightarrow=⇒ Leftarrow=⇐ Leftrightarrow=⇔ implies=⟹ iff=⟺ " +
    "mapsto=↦ uparrow=↑ downarrow=↓ longrightarrow=⟶ forall=∀ exists=∃ neg=¬ lnot=¬ land=∧ wedge=∧ lor=∨ vee=∨ " +
    "int=∫ iint=∬ oint=∮ therefore=∴ because=∵ angle=∠ triangle=△ langle=⟨ rangle=⟩ lfloor=⌊ rfloor=⌋ " +
    "lceil=⌈ rceil=⌉ lvert=| rvert=| vert=| lVert=‖ rVert=‖ Vert=‖ |=‖ {={ }=} lbrace={ rbrace=}",
);

/** Operators whose limits stand above and below. */
export const LARGE = table("sum=∑ prod=∏ coprod=∐ bigcup=⋃ bigcap=⋂ bigoplus=⨁");

/** Accents above their letter. */
export const ACCENTS = table(
  "hat=^ widehat=^ bar=¯ overline=¯ vec=→ overrightarrow=→ dot=˙ ddot=¨ tilde=~ widetilde=~",
);

/** Spaces, in em. */
export const SPACES = table(
  ",=0.17 :=0.22 ;=0.28 !=-0.17 quad=1 qquad=2 enspace=0.5 thinspace=0.17",
);

export const FUNCTIONS =
  /^(sin|cos|tan|cot|sec|csc|arcsin|arccos|arctan|sinh|cosh|tanh|log|ln|lg|exp|det|dim|ker|deg|gcd|arg)$/;
/** Functions whose limits stand below. */
export const LIMITS = /^(lim|max|min|sup|inf|limsup|liminf|argmax|argmin)$/;

export const DOUBLE_STRUCK = table("R=ℝ N=ℕ Z=ℤ Q=ℚ C=ℂ P=ℙ E=𝔼");

/** The brackets around the cells of an environment. */
export const ENVIRONMENTS: Readonly<Record<string, readonly [string, string]>> = {
  matrix: ["", ""],
  pmatrix: ["(", ")"],
  bmatrix: ["[", "]"],
  vmatrix: ["|", "|"],
  cases: ["{", ""],
  aligned: ["", ""],
  align: ["", ""],
  "align*": ["", ""],
};
