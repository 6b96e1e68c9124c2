/** The texts about the visitor's pictures in English. Other languages have them in a file of their own. */

export interface PictureTexts {
  /** The label of the button beside the text field. */
  readonly addPicture: string;
  /** The accessible name of the list above the text field. */
  readonly pictures: string;
  /** The label of the button at a picture, before the picture's name. */
  readonly removePicture: string;
  /** A picture without a name of its own. */
  readonly picture: string;
  /** What happens to a picture. */
  readonly pictureNote: string;
  /** The placeholder of the text field while there is a picture. */
  readonly askPicture: string;
  /** Why a file is refused. */
  readonly notPicture: string;
  readonly bigPicture: string;
  readonly manyPictures: string;
  /** Shown when the service refuses a question with pictures. */
  readonly picturesRefused: string;
  /** Shown in place of a picture of an earlier page that the service does not have. */
  readonly pictureGone: string;
}

export const ENGLISH: PictureTexts = {
  addPicture: "Add a picture",
  pictures: "Pictures to send",
  removePicture: "Remove the picture",
  picture: "Picture",
  pictureNote:
    "The AI sees the picture, and our team may. Its data about place and camera is removed.",
  askPicture: "Ask about the picture…",
  notPicture: "This file cannot be sent. Pictures in JPEG, PNG or WebP can.",
  bigPicture: "This picture is too large to be sent.",
  manyPictures: "At most three pictures can be sent with a question.",
  picturesRefused: "The question was refused with its pictures. Please send it without them.",
  pictureGone: "The picture is not here any more",
};

declare module "../../dictionaries.ts" {
  interface Dictionary extends Partial<PictureTexts> {}
}
