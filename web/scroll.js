const NEAR_END_PX = 48;

/** Change what `box` holds; a reader who was at its end stays there, one who has scrolled up is left alone. */
export function keepingEndInView(box, change) {
  const wasAtEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR_END_PX;
  change();
  if (wasAtEnd) box.scrollTop = box.scrollHeight;
}
